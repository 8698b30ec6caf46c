# shellcheck shell=bash
# ./dev lint: clang-tidy, shellcheck, codespell and the links of the documentation.

# The commit where this branch left main.
branch_point() {
  git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || git rev-parse HEAD
}

# changed_since COMMIT: the .cc files that changed since then, or include a header that did.
changed_since() {
  local file
  { git diff --name-only --diff-filter=d "$1" && git ls-files --others --exclude-standard; } |
    while read -r file; do
      case $file in
        src/*.cc | tests/*.cc | bench/*.cc) echo "$file" ;;
        src/*.h) grep -rl --include='*.cc' "\"${file#src/}\"" src tests bench || true ;;
      esac
    done | sort -u
}

# changed_sources MOST: what changed on this branch. On main itself, what its last commits changed, as
# many commits as change no more than MOST files, but at least one.
changed_sources() {
  local base files="" older
  base=$(branch_point)
  if [[ $base != "$(git rev-parse HEAD)" ]]; then
    changed_since "$base"
    return
  fi
  while read -r base; do
    older=$(changed_since "$base")
    [[ -z $files ]] || (($(wc -l <<<"$older") <= $1)) || break
    files=$older
  done < <(git rev-list --first-parent --max-count=40 HEAD~1 2>/dev/null)
  printf '%s' "${files:+$files$'\n'}"
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

# tidy FOLDER FILE...: what clang-tidy finds in files of the build in FOLDER, without its counts of
# what it was told to leave out. A compile unit counts as the sources that it includes.
tidy() {
  local folder=$1
  shift
  # shellcheck disable=SC2016 # the inner shell expands these
  (($# == 0)) || printf '%s\n' "$@" | xargs -n 1 -P "${jobs:-$(nproc)}" bash -c \
    'clang-tidy-14 -p "$1" --checks=-bugprone-suspicious-include --header-filter="$PWD/(src|tests|bench)/.*" --quiet "$2" 2> >(grep -v "warnings\? generated" >&2)' \
    bash "$folder"
}

# Every source, in compile units: headers, which take most of the time, are then read once a folder.
tidy_everything() {
  local units
  cmake --preset dev -B build/lint-units -DASSAY_UNIT_KIB=300 -DASSAY_BENCH=ON >build/logs/configure-lint.log
  # Files that the build makes, other than compile units, have no author to correct them.
  mapfile -t units < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/lint-units/compile_commands.json |
    grep -E '/Unity/|^[^ ]*/(src|tests|bench)/[^ ]*\.cc$' | grep -v "^$PWD/build/.*\.cc$")
  tidy build/lint-units "${units[@]}"
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
    *) refuse "lint knows no '$1'" ;;
  esac
  ask_for_root build test lint
  lock_build
  begin_steps 5
  step "Installing system packages" install_packages build test lint
  step "Checking shell scripts" check_scripts
  step "Checking words" check_words
  step "Checking links" tools/links.py
  if [[ ${1:-} == --all ]]; then
    step "Checking all C++ sources" tidy_everything
    return
  fi
  mapfile -t files < <(changed_sources "$((most < 0 ? 30 : most))" | compilable)
  if ((most >= 0 && ${#files[@]} > most)); then
    echo "${#files[@]} C++ sources have changed, more than $most: ./dev nightly checks them" >&2
    return
  fi
  step "Checking ${#files[@]} C++ sources" tidy build/lint "${files[@]}"
}
