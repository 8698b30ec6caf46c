# shellcheck shell=bash
# ./dev test: every test, as developers build it and under the sanitizers.

passed=0
failed=0
skipped=0

# attribute NAME < FILE: the number in the first NAME="…" of a JUnit file.
junit_attribute() {
  grep -o -m 1 "\b$1=\"[0-9]*\"" | head -n 1 | tr -dc '0-9'
}

# ctest_preset PRESET ARGS...
ctest_preset() {
  local preset=$1
  shift
  ctest --preset "$preset" --parallel "$jobs" --output-junit junit.xml "$@"
}

# Adds the counts of a JUnit file that ctest wrote.
count_results() {
  local total bad absent
  total=$(junit_attribute tests <"$1")
  bad=$(junit_attribute failures <"$1")
  absent=$(($(junit_attribute skipped <"$1") + $(junit_attribute disabled <"$1")))
  passed=$((passed + total - bad - absent))
  failed=$((failed + bad))
  skipped=$((skipped + absent))
}

# test_preset PRESET ARGS...: builds a preset, runs its tests and adds to the counts. What fails
# otherwise than by a failed test counts as one.
test_preset() {
  local preset=$1 junit=build/$1/junit.xml failed_before=$failed
  rm -f "$junit"
  try_step "Building ($preset)" build "$preset"
  if ((step_status == 0)); then
    try_step "Running the tests ($preset)" ctest_preset "$@"
    [[ ! -s $junit ]] || count_results "$junit"
    grep -E '^[[:space:]]+[0-9]+ - .*\((Skipped|Disabled)\)' "$step_log" >&2 || true
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
