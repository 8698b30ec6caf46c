#!/usr/bin/env bash
# Serves one copy of Qwen/Qwen3-30B-A3B on 4 GPUs of h200_sxm: tp 4, ep 4.
set -euo pipefail
cd "$(dirname "$0")"
exec vllm serve Qwen/Qwen3-30B-A3B \
  --host 0.0.0.0 \
  --port 8000 \
  --served-model-name Qwen/Qwen3-30B-A3B \
  --tensor-parallel-size 4 \
  --data-parallel-size 1 \
  --enable-expert-parallel \
  --max-model-len 1700 \
  --max-num-seqs 12 \
  --max-num-batched-tokens 8192 \
  --gpu-memory-utilization 0.9 \
  --kv-cache-dtype auto \
  --enable-chunked-prefill \
  --no-enable-prefix-caching \
  --cudagraph-capture-sizes 1 2 4 8 12 16 24
