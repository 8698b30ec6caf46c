#!/usr/bin/env bash
# Measures all instances by its engine's own client: so many requests stay in flight, 10 are sent
# for each, all of 4000 + 1000 tokens. `assay plan validate` reads this folder afterwards.
# URL and MODEL say where the server and the tokenizer are, if not here.
set -euo pipefail
cd "$(dirname "$0")"
url="${URL:-http://localhost:8000}"
model="${MODEL:-}"
[ -n "$model" ] || model=deepseek-ai/DeepSeek-V3
mkdir -p results
for concurrency in 1 2 4 8; do
  requests=$((concurrency * 10))
  result="results/concurrency-$concurrency.json"
  rm -f "$result"
  python3 -m tensorrt_llm.serve.scripts.benchmark_serving \
    --backend openai \
    --base-url "$url" \
    --model "$model" \
    --dataset-name random \
    --random-ids \
    --tokenize-on-client \
    --random-input-len 4000 \
    --random-output-len 1000 \
    --random-range-ratio 0 \
    --ignore-eos \
    --num-prompts "$requests" \
    --max-concurrency "$concurrency" \
    --seed "$concurrency" \
    --save-result \
    --result-filename "$result"
done
