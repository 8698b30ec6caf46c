#!/usr/bin/env bash
# Takes the requests of deepseek-ai/DeepSeek-V3 and sends them to the instances in turn.
set -euo pipefail
cd "$(dirname "$0")"
exec trtllm-serve disaggregated -c router.yaml \
  --server_start_timeout 3600 \
  --request_timeout 3600
