#!/usr/bin/env bash
# Takes the requests of deepseek-ai/DeepSeek-V3 and sends them to the instances in turn.
set -euo pipefail
cd "$(dirname "$0")"
exec vllm-router \
  --host 0.0.0.0 \
  --port 8000 \
  --policy round_robin \
  --worker-startup-timeout-secs 3600 \
  --vllm-pd-disaggregation \
  --prefill http://node-0:8100 \
  --decode http://node-1:8200
