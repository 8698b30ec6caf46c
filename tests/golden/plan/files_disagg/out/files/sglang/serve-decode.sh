#!/usr/bin/env bash
# Serves an instance of Qwen/Qwen3-32B that decodes on 4 GPUs of h200_sxm: tp 4.
# There is one of it. GPUS, PORT and TRANSFER_PORT say where, if not on the first GPUs.
set -euo pipefail
cd "$(dirname "$0")"
export CUDA_VISIBLE_DEVICES="${GPUS:-0,1,2,3}"
port="${PORT:-8200}"
transfer_port="${TRANSFER_PORT:-8998}"
exec python3 -m sglang.launch_server \
  --host 0.0.0.0 \
  --port "$port" \
  --model-path Qwen/Qwen3-32B \
  --served-model-name Qwen/Qwen3-32B \
  --tp-size 4 \
  --context-length 1700 \
  --max-running-requests 12 \
  --chunked-prefill-size 8192 \
  --max-prefill-tokens 16384 \
  --mem-fraction-static 0.88 \
  --kv-cache-dtype auto \
  --disable-radix-cache \
  --disaggregation-mode decode \
  --disaggregation-transfer-backend nixl \
  --disaggregation-bootstrap-port "$transfer_port" \
  --cuda-graph-bs 1 2 4 8 12
