#!/usr/bin/env bash
# Takes the requests of deepseek-ai/DeepSeek-V3 and sends them to the instances in turn.
set -euo pipefail
cd "$(dirname "$0")"
exec python3 -m sglang_router.launch_router \
  --host 0.0.0.0 \
  --port 8000 \
  --policy round_robin \
  --worker-startup-timeout-secs 3600 \
  --pd-disaggregation \
  --prefill http://node-0:8100 8998 \
  --decode http://node-1:8200
