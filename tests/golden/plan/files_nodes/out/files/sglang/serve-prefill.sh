#!/usr/bin/env bash
# Serves an instance of deepseek-ai/DeepSeek-V3 that computes prompts on 16 GPUs of h200_sxm: tp 8, ep 8, pp 2.
# There is one of it, on 2 machines. All run this: NODE is a machine's number, FIRST where
# the others reach number 0. GPUS, PORT and TRANSFER_PORT say where, if not on the first GPUs.
set -euo pipefail
cd "$(dirname "$0")"
export CUDA_VISIBLE_DEVICES="${GPUS:-0,1,2,3,4,5,6,7}"
node="${NODE:-0}"
first="${FIRST:-localhost}"
port="${PORT:-8100}"
transfer_port="${TRANSFER_PORT:-8998}"
exec python3 -m sglang.launch_server \
  --host 0.0.0.0 \
  --port "$port" \
  --model-path deepseek-ai/DeepSeek-V3 \
  --served-model-name deepseek-ai/DeepSeek-V3 \
  --tp-size 8 \
  --pp-size 2 \
  --ep-size 8 \
  --context-length 5500 \
  --max-running-requests 2 \
  --chunked-prefill-size 8192 \
  --max-prefill-tokens 16384 \
  --mem-fraction-static 0.88 \
  --kv-cache-dtype auto \
  --disable-radix-cache \
  --disaggregation-mode prefill \
  --disaggregation-transfer-backend nixl \
  --disaggregation-bootstrap-port "$transfer_port" \
  --disaggregation-decode-tp 8 \
  --disaggregation-decode-dp 8 \
  --cuda-graph-bs 1 \
  --nnodes 2 \
  --node-rank "$node" \
  --dist-init-addr "$first:29500"
