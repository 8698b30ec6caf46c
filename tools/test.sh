# shellcheck shell=bash
# ./dev test: every test, as developers build it and under the sanitizers.

passed=0
failed=0
skipped=0

# ctest_preset PRESET ARGS...: one more test at a time than there are processors, because the longest
# tests wait for processes that time out.
ctest_preset() {
  local preset=$1
  shift
  ctest --preset "$preset" --parallel "$((jobs + 1))" --output-junit junit.xml "$@"
}

# Adds the counts of a preset's reports, and tells what was skipped and why.
count_results() {
  local counts bad good absent
  counts=$(tools/count_tests.py "build/$1/junit.xml" "build/$1/reports")
  read -r good bad absent <<<"$counts"
  passed=$((passed + good))
  failed=$((failed + bad))
  skipped=$((skipped + absent))
  tail -n +2 <<<"$counts" >&2
}

# test_preset PRESET ARGS...: builds a preset, runs its tests and adds to the counts. What fails
# otherwise than by a failed test counts as one.
test_preset() {
  local preset=$1 junit=build/$1/junit.xml failed_before=$failed
  rm -rf "$junit" "build/$1/reports"
  try_step "Building ($preset)" build "$preset"
  if ((step_status == 0)); then
    try_step "Running the tests ($preset)" ctest_preset "$@"
    [[ ! -s $junit ]] || count_results "$preset"
  fi
  ((step_status == 0 || failed > failed_before)) || failed=$((failed + 1))
}

run_all_tests() {
  local presets=(dev asan) preset
  if [[ ${1:-} == --quick ]]; then
    presets=(dev)
    shift
  fi
  ask_for_root build test
  lock_build
  begin_steps $((1 + 2 * ${#presets[@]}))
  step "Installing system packages" install_packages build test
  for preset in "${presets[@]}"; do
    test_preset "$preset" "$@"
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0))
}
