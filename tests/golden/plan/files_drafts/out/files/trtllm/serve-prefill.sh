#!/usr/bin/env bash
# Serves an instance of deepseek-ai/DeepSeek-V3 that computes prompts on 8 GPUs of h200_sxm: tp 8, ep 8.
# There is one of it. GPUS and PORT say where, if not on the first GPUs.
set -euo pipefail
cd "$(dirname "$0")"
export CUDA_VISIBLE_DEVICES="${GPUS:-0,1,2,3,4,5,6,7}"
port="${PORT:-8100}"
exec trtllm-serve deepseek-ai/DeepSeek-V3 \
  --host 0.0.0.0 \
  --port "$port" \
  --extra_llm_api_options prefill-settings.yaml
