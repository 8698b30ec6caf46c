#!/usr/bin/env bash
# Serves one copy of Qwen/Qwen3-32B on 4 GPUs of h200_sxm: tp 4.
set -euo pipefail
cd "$(dirname "$0")"
exec trtllm-serve Qwen/Qwen3-32B \
  --host 0.0.0.0 \
  --port 8000 \
  --extra_llm_api_options settings.yaml
