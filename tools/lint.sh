# shellcheck shell=bash
# ./dev lint: clang-tidy and shellcheck.

# The .cc files to look at: all, or those that differ from main or include a header that does.
lint_sources() {
  if [[ ${1:-} == --all ]]; then
    sources | grep '\.cc$'
    return
  fi
  local base file
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || echo HEAD)
  { git diff --name-only --diff-filter=d "$base" && git ls-files --others --exclude-standard; } |
    while read -r file; do
      case $file in
        src/*.cc | tests/*.cc | bench/*.cc) echo "$file" ;;
        src/*.h) grep -rl --include='*.cc' "\"${file#src/}\"" src tests bench || true ;;
      esac
    done | sort -u
}

# Those that run; shellcheck follows what they source.
shell_scripts() {
  printf '%s\n' dev .ci/run
  find tools tests -name "*.sh" -executable
}

tidy() {
  local files=("$@")
  cmake --preset dev >/dev/null
  ((${#files[@]} == 0)) ||
    printf '%s\n' "${files[@]}" | xargs -n 1 -P "$jobs" clang-tidy-14 -p build/dev --quiet
}

run_lint() {
  local files scripts
  ask_for_root build test bench lint
  lock_build
  begin_steps 3
  step "Installing system packages" install_packages build test lint
  mapfile -t scripts < <(shell_scripts)
  step "Checking ${#scripts[@]} shell scripts" shellcheck -x "${scripts[@]}"
  mapfile -t files < <(lint_sources "$@")
  step "Checking ${#files[@]} C++ sources" tidy "${files[@]}"
}
