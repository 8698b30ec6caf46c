#!/usr/bin/env bash
# Serves one copy of qwen on 4 GPUs of h200_sxm: tp 2, dp 2, ep 4.
set -euo pipefail
cd "$(dirname "$0")"
exec python3 -m sglang.launch_server \
  --host 0.0.0.0 \
  --port 30000 \
  --model-path /models/qwen \
  --served-model-name qwen \
  --tp-size 4 \
  --dp-size 2 \
  --enable-dp-attention \
  --ep-size 4 \
  --context-length 5500 \
  --max-running-requests 32 \
  --chunked-prefill-size 16384 \
  --max-prefill-tokens 16384 \
  --mem-fraction-static 0.88 \
  --kv-cache-dtype auto \
  --disable-radix-cache \
  --cuda-graph-bs 2 4 8 12 16
