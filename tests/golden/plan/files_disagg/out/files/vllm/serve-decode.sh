#!/usr/bin/env bash
# Serves an instance of Qwen/Qwen3-32B that decodes on 4 GPUs of h200_sxm: tp 4.
# There is one of it. GPUS, PORT and TRANSFER_PORT say where, if not on the first GPUs;
# ADDRESS, where other machines reach this one.
set -euo pipefail
cd "$(dirname "$0")"
export CUDA_VISIBLE_DEVICES="${GPUS:-0,1,2,3}"
port="${PORT:-8200}"
export VLLM_NIXL_SIDE_CHANNEL_PORT="${TRANSFER_PORT:-5600}"
export VLLM_NIXL_SIDE_CHANNEL_HOST="${ADDRESS:-localhost}"
exec vllm serve Qwen/Qwen3-32B \
  --host 0.0.0.0 \
  --port "$port" \
  --served-model-name Qwen/Qwen3-32B \
  --tensor-parallel-size 4 \
  --data-parallel-size 1 \
  --max-model-len 1700 \
  --max-num-seqs 12 \
  --max-num-batched-tokens 8192 \
  --gpu-memory-utilization 0.9 \
  --kv-cache-dtype auto \
  --enable-chunked-prefill \
  --no-enable-prefix-caching \
  --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' \
  --cudagraph-capture-sizes 1 2 4 8 12 16 24
