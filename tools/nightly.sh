# shellcheck shell=bash
# ./dev nightly: what takes too long for every change. It goes on after a failure, and ends with a
# table of what it did.

fuzz_seconds=${ASSAY_FUZZ_SECONDS:-60}
# A target that is slower sees too little in a minute to say anything.
least_executions_per_second=1000
# How often each command that writes is killed.
kills=300
# The layers that start threads, by themselves or by core/parallel.h.
threaded_layers="core store trace goal simulate plan allreduce collect library doctor"
nightly_rows=()
nightly_failures=0

# note WHAT RESULT DETAIL: adds a row to the table; a result other than "ok" is a failure.
note() {
  nightly_rows+=("$1|$2|$3")
  [[ $2 == ok ]] || nightly_failures=$((nightly_failures + 1))
}

# nightly_step TITLE COMMAND...: a step and its row; its detail is the last line that it printed.
nightly_step() {
  local started=$SECONDS result=ok
  try_step "$@"
  ((step_status == 0)) || result=FAILED
  note "$1" "$result" "$((SECONDS - started)) s; $(tail -n 1 "$step_log")"
}

count_findings() {
  local status=0
  tidy_everything >build/logs/clang-tidy.txt || status=$?
  cat build/logs/clang-tidy.txt
  echo "$(grep -E ': (warning|error): ' build/logs/clang-tidy.txt | sort -u | wc -l) findings"
  return "$status"
}

# Where the system places memory at random beyond what ThreadSanitizer knows, it is told not to.
without_random_places() {
  if setarch "$(uname -m)" -R true 2>/dev/null; then setarch "$(uname -m)" -R "$@"; else "$@"; fi
}

# In a forked child, ThreadSanitizer's _exit writes what its parent had buffered for its output, and
# its signals come late, which the tests of signals cannot bear. Those start no threads.
race_tests() {
  local layer targets=()
  for layer in $threaded_layers; do
    targets+=("${layer}_tests")
  done
  cmake --preset tsan
  cmake --build --preset tsan --parallel "$jobs" --target "${targets[@]}"
  for layer in $threaded_layers; do
    without_random_places stdbuf -oL "build/tsan/tests/${layer}_tests" --gtest_brief=1 --gtest_filter=-Interrupt.*
  done
  echo "no race in the unit tests of $threaded_layers"
}

kill_writers() {
  build dev
  ASSAY=$PWD/build/dev/src/assay ASSAY_KILLS=$kills python3 tests/harm/kill_test.py
  echo "nothing half-written, nothing left behind"
}

write_everywhere() {
  local test
  build dev
  for test in outputs folders; do
    ASSAY=$PWD/build/dev/src/assay ASSAY_EVERYTHING=1 python3 "tests/harm/${test}_test.py" || return
  done
  echo "no place of an output does harm"
}

build_fuzz_targets() {
  local targets
  cmake --preset fuzz
  mapfile -t targets < <(cut -d ' ' -f 1 build/fuzz/fuzz_targets.txt)
  cmake --build --preset fuzz --parallel "$jobs" --target "${targets[@]}"
  echo "${#targets[@]} targets"
}

# fuzz NAME CORPUS: what it finds new stays in build/fuzz/corpus/NAME, what fails in
# build/fuzz/failures. Weighing inputs by entropy costs more here than the rest of a run.
fuzz() {
  local found=build/fuzz/corpus/$1 executions
  mkdir -p "$found" build/fuzz/failures
  "build/fuzz/tests/$1" "-max_total_time=$fuzz_seconds" -entropic=0 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    "-artifact_prefix=build/fuzz/failures/$1-" "$found" "$2"
  executions=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$step_log")
  echo "$executions executions a second"
  ((executions >= least_executions_per_second))
}

print_table() {
  local row what result detail
  printf '\n%-52s %-7s %s\n' "what" "result" "detail"
  for row in "${nightly_rows[@]}"; do
    IFS='|' read -r what result detail <<<"$row"
    printf '%-52s %-7s %s\n' "$what" "$result" "$detail"
  done
}

run_nightly() {
  local targets=() target name corpus
  source tools/lint.sh
  ask_for_root build test lint nightly
  lock_build
  begin_steps 8
  step "Installing system packages" install_packages build test lint nightly
  nightly_step "Shell scripts" check_scripts
  nightly_step "Words" check_words
  nightly_step "Links" tools/links.py
  nightly_step "Building the fuzz targets" build_fuzz_targets
  mapfile -t targets <build/fuzz/fuzz_targets.txt
  step_count=$((step_count + ${#targets[@]}))
  for target in "${targets[@]}"; do
    read -r name corpus <<<"$target"
    nightly_step "Fuzzing $name for $fuzz_seconds s" fuzz "$name" "$corpus"
  done
  nightly_step "Races" race_tests
  nightly_step "Killing every command that writes $kills times" kill_writers
  nightly_step "Writing to every kind of place" write_everywhere
  nightly_step "clang-tidy on everything" count_findings
  print_table
  echo "$nightly_failures failures"
  ((nightly_failures == 0))
}
