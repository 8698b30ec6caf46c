#!/usr/bin/env bash
# Serves an instance of Qwen/Qwen3-32B that computes prompts on 1 GPU of h200_sxm: tp 1.
# There are 2 of it. GPUS and PORT say where, if not on the first GPUs.
set -euo pipefail
cd "$(dirname "$0")"
export CUDA_VISIBLE_DEVICES="${GPUS:-0}"
port="${PORT:-8100}"
exec trtllm-serve Qwen/Qwen3-32B \
  --host 0.0.0.0 \
  --port "$port" \
  --extra_llm_api_options prefill-settings.yaml
