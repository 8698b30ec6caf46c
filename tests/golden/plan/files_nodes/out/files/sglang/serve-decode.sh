#!/usr/bin/env bash
# Serves an instance of deepseek-ai/DeepSeek-V3 that decodes on 8 GPUs of h200_sxm: tp 1, dp 8, ep 8.
# There is one of it. GPUS, PORT and TRANSFER_PORT say where, if not on the first GPUs.
set -euo pipefail
cd "$(dirname "$0")"
export CUDA_VISIBLE_DEVICES="${GPUS:-0,1,2,3,4,5,6,7}"
port="${PORT:-8200}"
transfer_port="${TRANSFER_PORT:-8998}"
exec python3 -m sglang.launch_server \
  --host 0.0.0.0 \
  --port "$port" \
  --model-path deepseek-ai/DeepSeek-V3 \
  --served-model-name deepseek-ai/DeepSeek-V3 \
  --tp-size 8 \
  --dp-size 8 \
  --enable-dp-attention \
  --ep-size 8 \
  --context-length 5500 \
  --max-running-requests 64 \
  --chunked-prefill-size 65536 \
  --max-prefill-tokens 16384 \
  --mem-fraction-static 0.88 \
  --kv-cache-dtype auto \
  --disable-radix-cache \
  --disaggregation-mode decode \
  --disaggregation-transfer-backend nixl \
  --disaggregation-bootstrap-port "$transfer_port" \
  --disaggregation-prefill-pp 2 \
  --prefill-round-robin-balance \
  --cuda-graph-bs 1 2 4 8
