# shellcheck shell=bash
# ./dev quickstart: from a fresh machine to an answer, then to finished reports, simulations and
# tables of the bundled measurements.

quickstart_output=quickstart-output

# The first answer: which of six NCCL settings to use on 8 GPUs.
rank_settings() {
  printf '\nOne training step on 8 H200 under six NCCL settings, three runs each:\n\n'
  build/release/src/assay sweep report samples/sweep-nccl-ctas -o "$quickstart_output/sweep" \
    --write xlsx
}

analyze_samples() {
  local config
  for config in ctas_default ctas_16; do
    build/release/src/assay trace analyze "samples/traces-2gpu/$config" \
      -o "$quickstart_output/$config"
  done
}

compare_samples() {
  build/release/src/assay trace compare --all --labels "default,16 CTAs" \
    --baseline samples/traces-2gpu/ctas_default --test samples/traces-2gpu/ctas_16 \
    --output "$quickstart_output/comparison"
}

# Four steps as recorded, and one on 16 nodes of 4 GPUs each.
make_schedules() {
  local generate=(build/release/src/assay goal generate samples/goal-4gpu --write bin --parallel)
  "${generate[@]}" -o "$quickstart_output/schedule" --from 3.899 --to 4.035
  "${generate[@]}" -o "$quickstart_output/schedule_64" --from 3.965 --to 3.999 --replicas 16
  build/release/src/assay goal check "$quickstart_output"/schedule{,_64}/output.bin
}

simulate_schedules() {
  printf '\nFour training steps on 4 GPUs (measured: 34.6 ms each):\n\n'
  build/release/src/assay simulate "$quickstart_output/schedule/output.bin"
  printf '\nOne step on 64 GPUs, 16 nodes with 25 GB/s between them:\n\n'
  build/release/src/assay simulate "$quickstart_output/schedule_64/output.bin"
}

tune_allreduce() {
  local samples=samples/allreduce-h200
  local tables="$quickstart_output/allreduce/tables"
  mkdir -p "$tables"
  build/release/src/assay allreduce codegen --data_dir "$samples" -o "$tables" \
    --validate "$samples/held_out" --stability "$samples/again" >"$tables/summary.txt"
  # The summary's paragraphs on what the tables lose and how firm they are.
  awk -v RS= '/^Time of the choice|^Choices from two/ { print "\n" $0 }' "$tables/summary.txt"
}

plot_allreduce() {
  build/release/src/assay allreduce plot samples/allreduce-h200 --write png,html \
    -o "$quickstart_output/allreduce/figures"
}

# The programs that run on GPUs only where there is one: they take as long as all others together.
build_programs() {
  source tools/gpu.sh
  if has_gpu; then
    build_for_package
  else
    build release programs
  fi
}

measure_products() {
  local size=(--m 256 --n 4096 --k 4096)
  printf '\nA product of 256 tokens on an H200, measured, from the database that ships with assay:\n\n'
  build/release/src/assay store query gemm "${size[@]}"
  printf '\nOn the CPU of this machine, measured now:\n\n'
  build/release/src/assay collect gemm --device cpu --dtype float32 "${size[@]}" --new-run \
    -o "$quickstart_output/collect" --quiet
  build/release/src/assay store query gemm "${size[@]}" --store "$quickstart_output/collect/perf.db"
}

run_quickstart() {
  # Some steps print through a pipe, which has no width of its own.
  if [[ -t 1 ]]; then
    COLUMNS=$(tput cols 2>/dev/null || true)
    export COLUMNS
  fi
  ask_for_root build
  lock_build
  begin_steps 10
  step "Installing system packages" install_packages build
  step "Building assay" build_programs
  mkdir -p "$quickstart_output"
  shown_step "Ranking six settings on 8 GPUs" rank_settings
  step "Analysing two runs on 2 GPUs each" analyze_samples
  shown_step "Comparing them" compare_samples
  step "Making schedules of a run on 4 GPUs" make_schedules
  shown_step "Simulating them" simulate_schedules
  shown_step "Making all-reduce tables of measurements on 2 and 4 GPUs" tune_allreduce
  step "Drawing the measurements" plot_allreduce
  shown_step "Measuring a matrix product" measure_products
  printf '\nAll results are in %s/. Open first:\n' "$quickstart_output"
  printf "  $quickstart_output/%s\n" sweep/sweep_report.html \
    comparison/final_analysis_report.html allreduce/figures/index.html
}
