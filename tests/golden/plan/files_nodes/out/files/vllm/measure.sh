#!/usr/bin/env bash
# Measures one copy by its engine's own client: so many requests stay in flight, 10 are sent
# for each, all of 4000 + 1000 tokens. `assay plan validate` reads this folder afterwards.
# URL and MODEL say where the server and the tokenizer are, if not here.
set -euo pipefail
cd "$(dirname "$0")"
url="${URL:-http://localhost:8000}"
model="${MODEL:-}"
[ -n "$model" ] || model=deepseek-ai/DeepSeek-V3
mkdir -p results
for concurrency in 1 8 16 32; do
  requests=$((concurrency * 10))
  result="results/concurrency-$concurrency.json"
  rm -f "$result"
  vllm bench serve \
    --backend vllm \
    --base-url "$url" \
    --model "$model" \
    --served-model-name deepseek-ai/DeepSeek-V3 \
    --dataset-name random \
    --random-input-len 4000 \
    --random-output-len 1000 \
    --random-range-ratio 0 \
    --ignore-eos \
    --temperature 0 \
    --num-prompts "$requests" \
    --max-concurrency "$concurrency" \
    --seed "$concurrency" \
    --save-result \
    --result-filename "$result"
done
