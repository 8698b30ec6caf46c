# shellcheck shell=bash
# ./dev lint: clang-tidy, shellcheck, codespell and the links of the documentation.

# The commit that changes are counted from: where this branch left main, or main's last one.
lint_base() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || echo HEAD)
  if [[ $base == $(git rev-parse HEAD) ]]; then
    base=$(git rev-parse --verify --quiet HEAD~1 || echo HEAD)
  fi
  echo "$base"
}

# The .cc files that changed since then, or include a header that did.
changed_sources() {
  local file
  { git diff --name-only --diff-filter=d "$(lint_base)" && git ls-files --others --exclude-standard; } |
    while read -r file; do
      case $file in
        src/*.cc | tests/*.cc | bench/*.cc) echo "$file" ;;
        src/*.h) grep -rl --include='*.cc' "\"${file#src/}\"" src tests bench || true ;;
      esac
    done | sort -u
}

# Those of the standard input that this machine can compile: without CUDA's headers not all.
# Compile units hide the files in them, so a build folder of its own has none; nothing is built there.
compilable() {
  local file
  cmake --preset dev -B build/lint -DASSAY_UNIT_KIB=0 -DASSAY_BENCH=ON >build/logs/configure-lint.log
  while read -r file; do
    ! grep -qF "\"file\": \"$PWD/$file\"" build/lint/compile_commands.json || echo "$file"
  done
}

# tidy FILE...: what clang-tidy finds, without its counts of what it was told to leave out.
tidy() {
  # shellcheck disable=SC2016 # the inner shell expands these
  (($# == 0)) || printf '%s\n' "$@" | xargs -n 1 -P "${jobs:-$(nproc)}" bash -c \
    'clang-tidy-14 -p build/lint --quiet "$1" 2> >(grep -v "warnings\? generated" >&2)' bash
}

# Those that run; shellcheck follows what they source.
check_scripts() {
  local scripts
  mapfile -t scripts < <(printf '%s\n' dev .ci/run && find tools tests -name '*.sh' -executable)
  require_tool shellcheck
  shellcheck -x "${scripts[@]}"
  echo "${#scripts[@]} shell scripts and what they source are well"
}

# .codespellrc says what is left out.
check_words() {
  require_tool codespell
  codespell
  echo "no misspelt word"
}

require_tool() {
  command -v "$1" >/dev/null || { echo "$1 is needed: ./dev test installs it" >&2 && return 1; }
}

# run_lint [--all | --at-most COUNT | --scripts | --words]
run_lint() {
  local files most=-1
  case ${1:-} in
    --scripts)
      check_scripts
      return
      ;;
    --words)
      check_words
      return
      ;;
    --at-most) most=$2 ;;
    --all | "") ;;
    *) usage >&2 && exit 2 ;;
  esac
  ask_for_root build test lint
  lock_build
  begin_steps 5
  step "Installing system packages" install_packages build test lint
  step "Checking shell scripts" check_scripts
  step "Checking words" check_words
  step "Checking links" tools/links.py
  mapfile -t files < <(if [[ ${1:-} == --all ]]; then sources | grep '\.cc$'; else changed_sources; fi | compilable)
  if ((most >= 0 && ${#files[@]} > most)); then
    echo "${#files[@]} C++ sources have changed, more than $most: ./dev nightly checks them" >&2
    return
  fi
  step "Checking ${#files[@]} C++ sources" tidy "${files[@]}"
}
