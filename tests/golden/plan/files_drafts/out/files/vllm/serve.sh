#!/usr/bin/env bash
# Serves deepseek-ai/DeepSeek-V3: 1P(tp 8, ep 8) + 1D(tp 8, ep 8), on 2 machines; the argument says which this one is.
# When one of its programs ends, all do.
set -euo pipefail
cd "$(dirname "$0")"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
case "${1:-}" in
  0)  # node-0
    GPUS=0,1,2,3,4,5,6,7 PORT=8100 TRANSFER_PORT=5600 ADDRESS=node-0 ./serve-prefill.sh &
    ./serve-router.sh &
    ;;
  1)  # node-1
    GPUS=0,1,2,3,4,5,6,7 PORT=8200 TRANSFER_PORT=5601 ADDRESS=node-1 ./serve-decode.sh &
    ;;
  *)
    echo "$0 N: this machine is one of 0 to 1" >&2
    exit 2
    ;;
esac
wait -n
