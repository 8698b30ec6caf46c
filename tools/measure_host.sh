#!/usr/bin/env bash
# measure_host.sh [options] N [PART...]: everything that a host of N GPUs is measured for, part by part.
#
# A part that ended well is not run again, so that the same line goes on where time, a kill or a failure
# ended it. Parts that the time left does not hold are not begun. Each part's output is DIR/logs/PART.log,
# its figures are lines in DIR/summary.txt, and the last table says what is done, failed and left.
# shellcheck disable=SC2317 # parts are called by their names
set -euo pipefail
source_dir=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)

usage() {
  cat <<TEXT
usage: tools/measure_host.sh [options] N [PART...]

Measures on a host with N GPUs (2 or more): all-reduce, NCCL, the recorder, simulated steps and sweeps.

  -o DIR         where results go, and those of earlier runs are [default: host-N]
  --assay FILE   the program [default: assay]; assay-worker lies beside it
  --wheel FILE   the wheel of ./dev package, for the parts that call from PyTorch
  --python FILE  a Python with PyTorch [default: python3]
  --minutes M    begin no part that would end later [default: 10]
  --list         print the parts, what they measure and about how long they take
  -h, --help     print this

Leave NVLink multicast off where the host's is: NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1
TEXT
}

fail_usage() {
  echo "measure_host.sh: $1; see --help" >&2
  exit 2
}

# NAME SECONDS WHAT: parts in the order in which they run, and about how long they take on 4 H200.
parts_table='
self_test 45 every strategy and fusion against float64, on N and N-2 GPUs
delays 10 the same with threads late at random, and mixed calls
memcheck 190 every kernel under compute-sanitizer
shared 25 8 ranks that share the GPUs: every strategy and fusion, and mixed calls
links 5 what the links carry
bench 40 all-reduce, full grid, replayed from graphs
again 40 the same with another seed
held_out 20 shapes off the grid
eager 12 all-reduce launched from the host
isolated 10 all-reduce with one call a replay
bench_types 30 float16 and float32, cells that span the grid
beside_pytorch 40 beside PyTorch, from graphs and call by call
halves 80 reduce-scatter and all-gather beside PyTorch, in the same two ways
decode_step 40 a decoding step with sums by NCCL, symmetric memory and ours
nccl 20 collections of NCCL and all-reduce, by threads
nccl_mpi 25 the same by a process for each GPU
rerun 20 points of the collection measured again
nccl_sweep 40 settings of NCCL beside its own choice
recorder 260 steps without and with the recorder, in turn
step 20 a recorded step, simulated
captured 25 collectives in CUDA graphs, recorded
collectives 30 every collective at many sizes, recorded and fitted
decoder 60 a training step beside the one that goal synth makes
sweep 100 two settings, three runs each, and what the runner costs
mixed 330 ten million mixed calls, each checked
'
all_parts() { awk 'NF { print $1 }' <<<"$parts_table"; }
seconds_of() { awk -v part="$1" '$1 == part { print $2 }' <<<"$parts_table"; }

# say [WORDS]: the last line of its input is a figure of the part; the log has all.
say() { tee /dev/stderr | tail -n 1 | sed "s|^|$part: ${1:+$1 }|" | tee -a "$out/summary.txt"; }

torchrun() { "$python" -m torch.distributed.run --standalone --nproc_per_node "$gpus" "$@"; }

with_wheel() {
  [[ -n $wheel ]] || { echo "needs --wheel" && return 1; }
  [[ -d $out/site ]] || "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$out/site" "$wheel"
  PYTHONPATH=$out/site "$@"
}

# What an earlier try began, it goes on with.
resumed() { "$@" --resume || "$@"; }
bench() { resumed "$assay" allreduce bench --tp "$gpus" -q "$@"; }

part_self_test() {
  local count
  for count in "$gpus" $((gpus > 3 ? gpus - 2 : 0)); do
    ((count == 0)) || "$worker" allreduce --tp "$count" --self-test all | say "$count GPUs:"
  done
}
part_delays() {
  ASSAY_ALLREDUCE_DELAYS=1 "$worker" allreduce --tp "$gpus" --self-test few --mixed-calls 10000 | say
}
# Errors that calls of CUDA return are not counted: their callers handle them.
part_memcheck() {
  compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 1 \
    "$worker" allreduce --tp "$gpus" --self-test few | say
}
part_shared() {
  local rank on=0
  for rank in {1..7}; do on+=,$((rank % gpus)); done
  "$worker" allreduce --tp 8 --gpus "$on" --self-test all --mixed-calls 10000 | say "8 ranks:"
}
part_links() { "$worker" allreduce --tp "$gpus" --measure links | tee "$out/allreduce/links.tp$gpus.txt"; }
part_bench() { bench -o "$out/allreduce"; }
part_again() { bench --seed 2 -o "$out/allreduce/again"; }
part_held_out() { bench --held-out -o "$out/allreduce/held_out"; }
part_eager() { bench --launch eager --fusion NONE -o "$out/allreduce"; }
part_isolated() { bench --launch isolated --hidden 4096 -o "$out/allreduce/isolated"; }
part_bench_types() { bench --dtype float16,float32 --limit 60 -o "$out/allreduce"; }
part_beside_pytorch() {
  local beside=$source_dir/examples/allreduce/beside_pytorch.py to=$out/allreduce/beside_pytorch.tp$gpus
  with_wheel torchrun "$beside" | tee "$to.csv"
  with_wheel torchrun "$beside" --launch eager | tee "$to.eager.csv"
}
part_halves() {
  local beside=$source_dir/examples/allreduce/beside_pytorch.py operation launch end
  for operation in reduce_scatter all_gather; do
    for launch in graph eager; do
      end=.tp$gpus; [[ $launch == graph ]] || end+=.eager
      with_wheel torchrun "$beside" --operation "$operation" --launch "$launch" |
        tee "$out/allreduce/beside_pytorch.$operation$end.csv"
    done
  done
}
part_decode_step() {
  with_wheel torchrun "$source_dir/examples/allreduce/decode_step.py" | tee "$out/allreduce/decode_step.tp$gpus.csv"
}

collectives="nccl custom_allreduce"
part_nccl() {
  local name
  for name in $collectives; do
    resumed "$assay" collect "$name" --num-gpus "$gpus" -o "$out/collect_$name"
  done
}
part_nccl_mpi() {
  local name
  for name in $collectives; do
    resumed mpirun --allow-run-as-root --bind-to none -n "$gpus" \
      "$assay" collect "$name" --num-gpus "$gpus" -o "$out/collect_mpi_$name"
  done
}
part_rerun() {
  local name
  for name in $collectives; do
    "$assay" store check --store "$out/collect_$name/perf.db" --rerun 200
  done
}
part_nccl_sweep() { bench --nccl-sweep -o "$out/allreduce/nccl"; }

train=$source_dir/examples/training/train.py
step_ms() { sed -n 's/^median step \([0-9.]*\) ms.*/\1/p'; }

# beside MS OTHER_MS: both, and by how much the first is more.
beside() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "" || b == "") exit 1; printf "%s ms beside %s ms, %+.2f %%\n", a, b, (a / b - 1) * 100 }'; }

# recorded NAME PROGRAM...: its recording; that of a try that failed goes.
recorded() {
  rm -rf "${out:?}/$1"
  "$assay" record -o "$out/$1" --kernel-times "${timers:-nccl}" -- \
    "$python" -m torch.distributed.run --standalone --nproc_per_node "$gpus" "${@:2}"
}

# A step of many small kernels waits for its host.
part_recorder() {
  local kind number without with words
  for kind in gpu host; do
    words=(--output "$out/work" --active 0 --steps 100)
    [[ $kind == gpu ]] || words+=(--layers 8 --hidden 1024 --sequence 512)
    for number in 1 2 3; do
      without=$(torchrun "$train" "${words[@]}" | step_ms)
      with=$(recorded "recorder_$kind$number" "$train" "${words[@]}" | step_ms)
      beside "$with" "$without" | say "a step that waits for its $kind, with the recorder beside without:"
    done
  done
}

part_step() {
  recorded rec_step "$train" --output "$out/work" --active 0 --steps 6 --wait 2
  "$assay" goal generate "$out/rec_step" -o "$out/goal_step" --write bin
  "$assay" simulate "$out/goal_step/output.bin" --operations "$out/operations_step.csv"
}
part_captured() {
  local timers=cupti
  recorded rec_captured "$source_dir/examples/collectives/collectives.py" --captured --repeats 4 --largest 16777216
  "$assay" goal generate "$out/rec_captured" -o "$out/goal_captured" --write bin
  "$assay" goal validate "$out/rec_captured" || true
}
part_collectives() {
  recorded rec_collectives "$source_dir/examples/collectives/collectives.py"
  "$assay" goal validate "$out/rec_collectives"
  "$assay" simulate fit "$out/rec_collectives" -o "$out/fitted.tp$gpus.json"
}
part_decoder() {
  local model=$source_dir/examples/training/llama-3.1-8b-of-8-layers.json measured made
  local words=("$train" --parallelism decoder --model "$model" --batch 2 --sequence 4096)
  measured=$(torchrun "${words[@]}" --active 0 --steps 20 --output "$out/work" | tee /dev/stderr | step_ms)
  torchrun "${words[@]}" --active 3 --steps 0 --gzip --output "$out/decoder"
  "$assay" goal synth --model "$model" --dp "$gpus" --data-parallel fsdp --sequence 4096 --micro-batch 2 \
    -o "$out/goal_decoder" --write bin -q
  made=$("$assay" simulate "$out/goal_decoder/output.bin" --format json | "$python" -c 'import json, sys
table = json.load(sys.stdin)["tables"][0]
print(table["rows"][0][[column["name"] for column in table["columns"]].index("finish")] / 1e3)')
  beside "$made" "$measured" | say "made by goal synth beside measured:"
}
part_sweep() {
  local TIMEFORMAT='%U %S'
  { time "$assay" sweep run --preset nccl-ctas -p default --repeat 10 --overwrite -q -o "$out/sweep_cost" -- sleep 1 >&2 \
    2>"$out/logs/sweep_cost.log"; } 2>&1 | say "CPU-s of ten runs of 'sleep 1', user and system:"
  "$assay" sweep run --preset nccl-ctas -p "default 8,512" --repeat 3 --deadline 60 --overwrite -o "$out/sweep" -- "$python" -m \
    torch.distributed.run --standalone --nproc_per_node "$gpus" "$train" --output '{dir}' --active 6 --steps 10 --gzip
  "$assay" sweep report "$out/sweep" -o "$out/sweep_report"
}
part_mixed() { "$worker" allreduce --tp "$gpus" --self-test few --mixed-calls "${ASSAY_MIXED_CALLS:-10000000}" | say; }

# run_part: in a process group of its own with the time that is left, so that nothing outlives it.
run_part() {
  local left=$((ends_at - SECONDS)) began=$SECONDS status=0
  timeout --kill-after 10 "$left" bash "$0" "${own_words[@]}" --run "$part" "$gpus" >"$out/logs/$part.log" 2>&1 9>&- || status=$?
  if ((status == 0)); then
    echo "$((SECONDS - began))" >"$out/done/$part"
    rows+=("$part|done|$((SECONDS - began)) s")
  else
    failed=1
    rows+=("$part|failed|exit $status after $((SECONDS - began)) s: $(tail -n 1 "$out/logs/$part.log" | cut -c 1-120)")
  fi
}

assay=assay python=python3 wheel='' minutes=10 out='' gpus='' only='' parts=()
while (($# > 0)); do
  case $1 in
    -o | --assay | --wheel | --python | --minutes | --run) (($# > 1)) || fail_usage "$1 needs a value" ;;
  esac
  case $1 in
    -o) out=${2-} && shift ;;
    --assay) assay=${2-} && shift ;;
    --wheel) wheel=${2-} && shift ;;
    --python) python=${2-} && shift ;;
    --minutes) minutes=${2-} && shift ;;
    --run) only=${2-} && shift ;;
    --list) sed '/^$/d; s/ /\t/; s/ / s\t/' <<<"$parts_table" | sed "s/N GPUs/the host's GPUs/" && exit ;;
    -h | --help) usage && exit ;;
    -*) fail_usage "unknown option '$1'" ;;
    *) if [[ -z $gpus ]]; then gpus=$1; else parts+=("$1"); fi ;;
  esac
  shift
done
[[ $gpus =~ ^[2-9]$|^1[0-6]$ ]] || fail_usage "the number of GPUs, 2 to 16, is '$gpus'"
[[ $minutes =~ ^[0-9]+$ ]] || fail_usage "--minutes is '$minutes'"
for part in "${parts[@]}"; do
  [[ -n $(seconds_of "$part") ]] || fail_usage "no part is called '$part'; --list shows them"
done
program=$(command -v "$assay") || fail_usage "there is no program '$assay'"
assay=$(readlink -f "$program")
worker=${ASSAY_WORKER:-$(dirname "$assay")/assay-worker}
out=$(realpath -m "${out:-host-$gpus}")
mkdir -p "$out"/{logs,done,allreduce,work}

if [[ -n $only ]]; then
  part=$only
  "part_$part"
  exit
fi

exec 9>"$out/.lock"
flock --nonblock 9 || {
  echo "measure_host.sh: another run measures into $out" >&2
  exit 1
}
own_words=(-o "$out" --assay "$assay" --wheel "$wheel" --python "$python")
ends_at=$((SECONDS + minutes * 60))
rows=() failed=0
((${#parts[@]} > 0)) || mapfile -t parts < <(all_parts)
for part in "${parts[@]}"; do
  if [[ -e $out/done/$part ]]; then
    rows+=("$part|done before|$(<"$out/done/$part") s")
  elif (($(seconds_of "$part") > ends_at - SECONDS)); then
    failed=1
    rows+=("$part|left|takes about $(seconds_of "$part") s")
  else
    run_part
  fi
done
printf '%s\n' "${rows[@]}" | awk -F '|' '{ printf "%-15s %-11s %s\n", $1, $2, $3 }'
exit "$failed"
