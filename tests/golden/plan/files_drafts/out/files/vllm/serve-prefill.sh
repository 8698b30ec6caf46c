#!/usr/bin/env bash
# Serves an instance of deepseek-ai/DeepSeek-V3 that computes prompts on 8 GPUs of h200_sxm: tp 8, ep 8.
# There is one of it. GPUS, PORT and TRANSFER_PORT say where, if not on the first GPUs;
# ADDRESS, where other machines reach this one.
set -euo pipefail
cd "$(dirname "$0")"
export CUDA_VISIBLE_DEVICES="${GPUS:-0,1,2,3,4,5,6,7}"
port="${PORT:-8100}"
export VLLM_NIXL_SIDE_CHANNEL_PORT="${TRANSFER_PORT:-5600}"
export VLLM_NIXL_SIDE_CHANNEL_HOST="${ADDRESS:-localhost}"
exec vllm serve deepseek-ai/DeepSeek-V3 \
  --host 0.0.0.0 \
  --port "$port" \
  --served-model-name deepseek-ai/DeepSeek-V3 \
  --tensor-parallel-size 8 \
  --data-parallel-size 1 \
  --enable-expert-parallel \
  --max-model-len 5500 \
  --max-num-seqs 1 \
  --max-num-batched-tokens 8192 \
  --gpu-memory-utilization 0.9 \
  --kv-cache-dtype auto \
  --enable-chunked-prefill \
  --no-enable-prefix-caching \
  --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' \
  --speculative-config '{"method":"mtp","num_speculative_tokens":1}' \
  --cudagraph-capture-sizes 2 4
