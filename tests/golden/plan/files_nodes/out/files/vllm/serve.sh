#!/usr/bin/env bash
# Serves one copy of deepseek-ai/DeepSeek-V3 on 16 GPUs of h200_sxm: tp 8, ep 8, pp 2.
# Each of its 2 machines runs it with a number: 'serve.sh 0' on gpu-a, which takes the
# requests, up to 'serve.sh 1' on gpu-b. Each of them downloads the weights.
# FIRST says where the others reach the first, if not at gpu-a.
set -euo pipefail
cd "$(dirname "$0")"
node="${1:-}"
case "$node" in
  0 | 1) ;;
  *)
    echo "$0 N: this machine is one of 0 to 1" >&2
    exit 2
    ;;
esac
first="${FIRST:-gpu-a}"
others=()
[ "$node" = 0 ] || others=(--headless)
exec vllm serve deepseek-ai/DeepSeek-V3 \
  --host 0.0.0.0 \
  --port 8000 \
  --served-model-name deepseek-ai/DeepSeek-V3 \
  --tensor-parallel-size 8 \
  --data-parallel-size 1 \
  --pipeline-parallel-size 2 \
  --enable-expert-parallel \
  --max-model-len 5500 \
  --max-num-seqs 32 \
  --max-num-batched-tokens 8192 \
  --gpu-memory-utilization 0.9 \
  --kv-cache-dtype auto \
  --enable-chunked-prefill \
  --no-enable-prefix-caching \
  --cudagraph-capture-sizes 1 2 4 8 16 24 32 \
  --nnodes 2 \
  --node-rank "$node" \
  --master-addr "$first" \
  --master-port 29500 \
  "${others[@]}"
