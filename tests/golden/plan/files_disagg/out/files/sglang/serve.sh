#!/usr/bin/env bash
# Serves Qwen/Qwen3-32B: 2P(tp 1) + 1D(tp 4), on this machine.
# When one of its programs ends, all do.
set -euo pipefail
cd "$(dirname "$0")"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
GPUS=0 PORT=8100 TRANSFER_PORT=8998 ./serve-prefill.sh &
GPUS=1 PORT=8101 TRANSFER_PORT=8999 ./serve-prefill.sh &
GPUS=2,3,4,5 PORT=8200 TRANSFER_PORT=9000 ./serve-decode.sh &
./serve-router.sh &
wait -n
