#!/usr/bin/env bash
# Takes the requests of Qwen/Qwen3-32B and sends them to the instances in turn.
set -euo pipefail
cd "$(dirname "$0")"
exec vllm-router \
  --host 0.0.0.0 \
  --port 8000 \
  --policy round_robin \
  --worker-startup-timeout-secs 3600 \
  --vllm-pd-disaggregation \
  --prefill http://a:8100 \
  --prefill http://a:8101 \
  --prefill http://a:8102 \
  --decode http://b:8200
