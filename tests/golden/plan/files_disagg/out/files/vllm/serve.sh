#!/usr/bin/env bash
# Serves Qwen/Qwen3-32B: 3P(tp 2) + 1D(tp 4), on 2 machines; the argument says which this one is.
# When one of its programs ends, all do.
set -euo pipefail
cd "$(dirname "$0")"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
case "${1:-}" in
  0)  # a
    GPUS=0,1 PORT=8100 TRANSFER_PORT=5600 ADDRESS=a ./serve-prefill.sh &
    GPUS=2,3 PORT=8101 TRANSFER_PORT=5601 ADDRESS=a ./serve-prefill.sh &
    GPUS=4,5 PORT=8102 TRANSFER_PORT=5602 ADDRESS=a ./serve-prefill.sh &
    ./serve-router.sh &
    ;;
  1)  # b
    GPUS=0,1,2,3 PORT=8200 TRANSFER_PORT=5603 ADDRESS=b ./serve-decode.sh &
    ;;
  *)
    echo "$0 N: this machine is one of 0 to 1" >&2
    exit 2
    ;;
esac
wait -n
