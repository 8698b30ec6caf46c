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

# test_preset PRESET ARGS...: runs the tests of a preset and adds to the counts.
test_preset() {
  local preset=$1 junit=build/$1/junit.xml total bad absent
  rm -f "$junit"
  try_step "Running the tests ($preset)" ctest_preset "$@"
  if [[ ! -s $junit ]]; then
    failed=$((failed + 1))
    return
  fi
  total=$(junit_attribute tests <"$junit")
  bad=$(junit_attribute failures <"$junit")
  absent=$(($(junit_attribute skipped <"$junit") + $(junit_attribute disabled <"$junit")))
  # ctest failing without a failed test (none found, say) is a failure too.
  ((step_status == 0 || bad > 0)) || bad=1
  failed=$((failed + bad))
  skipped=$((skipped + absent))
  passed=$((passed + total - bad - absent))
  grep -E '^[[:space:]]+[0-9]+ - .*\((Skipped|Disabled)\)' "$step_log" >&2 || true
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
    step "Building ($preset)" build "$preset"
    test_preset "$preset" "$@"
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0))
}
