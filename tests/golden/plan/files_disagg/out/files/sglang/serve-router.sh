#!/usr/bin/env bash
# Takes the requests of Qwen/Qwen3-32B and sends them to the instances in turn.
set -euo pipefail
cd "$(dirname "$0")"
exec python3 -m sglang_router.launch_router \
  --host 0.0.0.0 \
  --port 8000 \
  --policy round_robin \
  --worker-startup-timeout-secs 3600 \
  --pd-disaggregation \
  --prefill http://localhost:8100 8998 \
  --prefill http://localhost:8101 8999 \
  --decode http://localhost:8200
