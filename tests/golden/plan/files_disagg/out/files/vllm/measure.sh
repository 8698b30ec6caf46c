#!/usr/bin/env bash
# Measures all instances by its engine's own client: so many requests stay in flight, 10 are sent
# for each, all of 1000 + 200 tokens. `assay plan validate` reads this folder afterwards.
# URL and MODEL say where the server and the tokenizer are, if not here.
set -euo pipefail
cd "$(dirname "$0")"
url="${URL:-http://localhost:8000}"
model="${MODEL:-}"
[ -n "$model" ] || model=Qwen/Qwen3-32B
mkdir -p results
for concurrency in 1 3 6 12; do
  requests=$((concurrency * 10))
  result="results/concurrency-$concurrency.json"
  rm -f "$result"
  vllm bench serve \
    --backend vllm \
    --base-url "$url" \
    --model "$model" \
    --served-model-name Qwen/Qwen3-32B \
    --dataset-name random \
    --random-input-len 1000 \
    --random-output-len 200 \
    --random-range-ratio 0 \
    --ignore-eos \
    --temperature 0 \
    --num-prompts "$requests" \
    --max-concurrency "$concurrency" \
    --seed "$concurrency" \
    --save-result \
    --result-filename "$result"
done
