#!/usr/bin/env bash
# Serves an instance of Qwen/Qwen3-32B that decodes on 4 GPUs of h200_sxm: tp 4.
# There is one of it. GPUS and PORT say where, if not on the first GPUs.
set -euo pipefail
cd "$(dirname "$0")"
export CUDA_VISIBLE_DEVICES="${GPUS:-0,1,2,3}"
port="${PORT:-8200}"
exec trtllm-serve Qwen/Qwen3-32B \
  --host 0.0.0.0 \
  --port "$port" \
  --extra_llm_api_options decode-settings.yaml
