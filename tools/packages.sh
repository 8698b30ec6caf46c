# shellcheck shell=bash
# The system packages of each purpose, by the names of Debian 12 and Ubuntu 24.04.

declare -A packages=(
  # To build and run assay.
  [build]="g++ cmake ninja-build pkg-config zlib1g-dev libisal-dev libfmt-dev libsimdjson-dev
    nlohmann-json3-dev libcli11-dev libxlsxwriter-dev libsqlite3-dev
    libzstd-dev libsnappy-dev libyaml-cpp-dev libpcre2-dev libdnnl-dev libopenmpi-dev gnuplot-nox
    nodejs npm"
  # To run every test: the unit tests' library, a reader of our workbooks, the formatter, shells
  # to complete in, a launcher of ranks, a packer of shipped databases, a fast linker, the checks of
  # scripts and words, what makes a .deb and a wheel, a browser for the HTML pages, an environment for
  # our wheel and what its tables are handed to, what runs notebooks.
  [test]="libgtest-dev libgmock-dev libreoffice-calc-nogui python3 clang-format-14 binutils fish zsh
    openmpi-bin zstd lld shellcheck codespell dpkg-dev chromium python3-venv python3-numpy python3-pandas
    python3-matplotlib python3-ipykernel python3-nbclient patchelf"
  [bench]="libbenchmark-dev"
  [lint]="clang-tidy-14 shellcheck codespell"
  # To check an installation, and to make a .deb and a wheel of it.
  [package]="binutils dpkg-dev patchelf python3 python3-venv"
  [nightly]="clang libclang-rt-14-dev clang-tidy-14 shellcheck codespell"
)

# missing_packages PURPOSE...: prints the packages of these purposes that are not installed.
missing_packages() {
  local purpose package
  for purpose in "$@"; do
    for package in ${packages[$purpose]}; do
      # Other packages of Node bring npm along, and conflict with the distribution's.
      [[ $package != @(nodejs|npm) ]] || ! command -v "${package%js}" >/dev/null || continue
      [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed* ]] ||
        echo "$package"
    done
  done
}

# Asks for the password before any progress line can hide the question.
ask_for_root() {
  [[ $(id -u) != 0 && -n $(missing_packages "$@") ]] || return 0
  if ! command -v sudo >/dev/null; then
    echo "As root, first run: apt-get install $(missing_packages "$@" | xargs)" >&2
    return 1
  fi
  sudo -v
}

as_root() {
  local run=(env DEBIAN_FRONTEND=noninteractive "$@")
  if [[ $(id -u) == 0 ]]; then "${run[@]}"; else sudo "${run[@]}"; fi
}

# install_packages PURPOSE...: installs what is missing for the purposes; asks nothing of the
# network when nothing is.
install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    echo "All packages are installed."
  elif ! command -v apt-get >/dev/null; then
    echo "No apt-get here. Going on as if the counterparts of these were installed: ${missing[*]}"
  else
    # A fresh Ubuntu may still be updating itself: wait for its lock rather than fail.
    local options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    as_root apt-get "${options[@]}" update
    as_root apt-get "${options[@]}" install -y --no-install-recommends "${missing[@]}"
  fi
}
