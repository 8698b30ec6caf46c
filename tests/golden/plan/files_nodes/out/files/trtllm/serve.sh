#!/usr/bin/env bash
# Serves one copy of deepseek-ai/DeepSeek-V3 on 16 GPUs of h200_sxm: tp 8, ep 8, pp 2.
# It is started on the first of its 2 machines alone: mpirun reaches the others by
# ssh, without a password. Each of them downloads the weights.
# HOSTS says which machines they are, if not node-0 and node-1.
set -euo pipefail
cd "$(dirname "$0")"
hosts="${HOSTS:-node-0:8,node-1:8}"
passed=()
for name in HF_HOME HF_TOKEN LD_LIBRARY_PATH PATH PYTHONPATH; do
  [ -z "${!name:-}" ] || passed+=(-x "$name")
done
[ "$(id -u)" != 0 ] || passed+=(--allow-run-as-root)
exec mpirun --host "$hosts" -np 16 --map-by ppr:8:node "${passed[@]}" \
  trtllm-llmapi-launch trtllm-serve deepseek-ai/DeepSeek-V3 \
  --host 0.0.0.0 \
  --port 8000 \
  --extra_llm_api_options settings.yaml
