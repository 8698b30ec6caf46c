#!/usr/bin/env bash
# package.sh BUILD_DIR OUTPUT_DIR: makes OUTPUT_DIR/assay-VERSION-linux-ARCH.tar.gz and
# OUTPUT_DIR/assay_VERSION_ARCH.deb of a finished build. It unpacks both, checks how the programs
# were compiled (check_binaries.py), and tries the archive where there is nothing but glibc.
# It makes the wheel of python/assay as well, with python/assay_allreduce where libassay_allreduce.so was
# built.
#
# Every shared library except glibc's travels along in the archive, in lib/. The program finds them
# through its DT_RPATH, $ORIGIN/../lib, which (unlike DT_RUNPATH) also serves libraries that need
# each other. The .deb depends on the distribution's packages instead.
set -euo pipefail
source_dir=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
glibc='^(linux-vdso|ld-linux.*|lib(c|m|dl|pthread|rt|mvec|resolv|util|anl))\.so'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Paths of all libraries that a program loads, directly or not.
libraries() {
  ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }'
}

bundle_libraries() {
  local library package
  while read -r library; do
    [[ $(basename "$library") =~ $glibc || $library == "$1"/* ]] && continue
    install -m 644 "$library" "$1/lib/"
    # Known to dpkg by its name in /usr/lib or in /lib, depending on the package.
    package=$(dpkg-query -S "$(readlink -f "$library")" "$library" 2>/dev/null || true)
    package=${package%%:*}
    install -D -m 644 "/usr/share/doc/$package/copyright" "$1/share/licenses/assay/$package"
  done < <(for program in "$1"/bin/*; do libraries "$program"; done | sort -u)
}

# The newest glibc symbol version that anything in the archive needs.
needed_glibc() {
  find "$1/bin" "$1/lib" -type f \( -perm -u+x -o -name '*.so*' \) -exec objdump -T {} + | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1
}

# A root folder with only glibc in it.
make_bare_root() {
  local library
  mkdir -p "$1/proc" "$1/tmp"
  while read -r library; do
    [[ $(basename "$library") =~ $glibc ]] || continue
    install -D "$library" "$1$library"
  done < <(libraries "$2/bin/assay")
}

# Runs a command with the given folder as root folder; the loader finds $ORIGIN by /proc.
# Ordinary users may do this in a user namespace of their own, where the system allows those.
in_root() {
  local namespaces=(--mount)
  [[ $(id -u) == 0 ]] || namespaces+=(--map-root-user)
  # shellcheck disable=SC2016 # the inner shell expands these
  unshare "${namespaces[@]}" bash -c \
    'PATH=$PATH:/usr/sbin; mount --rbind /proc "$1/proc" && exec env -i "$(command -v chroot)" "$@"' \
    bash "$@"
}

# Runs the unpacked program with an empty environment and, where the system lets us change the
# root folder, without the machine's own libraries.
try_archive() {
  local root=$work/root
  make_bare_root "$root" "$2"
  tar -xzf "$1" -C "$root/tmp"
  if in_root "$root" /lib64/ld-linux-x86-64.so.2 --version >"$work/in_root.log" 2>&1; then
    in_root "$root" "/tmp/$name/bin/assay" --version
  else
    echo "The machine's libraries stay in sight: $(tail -n 1 "$work/in_root.log")" >&2
    env -i "$root/tmp/$name/bin/assay" --version
  fi
}

# Makes the .deb of the same build and prints its path.
make_deb() {
  cpack -G DEB --config "$build_dir/CPackConfig.cmake" -B "$work/deb" >"$work/cpack.log" 2>&1 || {
    tail -n 50 "$work/cpack.log" >&2
    return 1
  }
  echo "$work"/deb/*.deb
}

# A .deb names what it needs, and its program runs from where it was unpacked.
try_deb() {
  dpkg-deb --extract "$1" "$work/unpacked"
  "$source_dir/tools/check_binaries.py" "$work/unpacked/usr" "${build_paths[@]}"
  [[ $(dpkg-deb --field "$1" Depends) == *libc6* ]]
  env -i "$work/unpacked/usr/bin/assay" --version
}

# Makes the wheel and prints its path.
make_wheel() {
  local words=(--engine "$build_dir/src/libassay.so"
    --measure "$build_dir/src/libassay_measure.so" --license "$source_dir/LICENSE") license
  for license in "$tree"/share/licenses/assay/*; do
    words+=(--license "$license")
  done
  if [[ -e $build_dir/src/libassay_allreduce.so ]]; then
    words+=(--library "$build_dir/src/libassay_allreduce.so"
      --operators "$build_dir/src/libassay_allreduce_torch.so"
      --table "sm90=$source_dir/samples/allreduce-h200/gen_heuristic_code/allreduce_table.json")
  fi
  "$source_dir/tools/make_wheel.py" "${words[@]}" --version "$version" -o "$work/wheel"
}

# A fresh environment takes the wheel, and its libraries load there.
try_wheel() {
  python3 -m zipfile -e "$1" "$work/wheel_tree"
  rm "$work/wheel_tree"/assay/lib/libassay-* # other people's
  "$source_dir/tools/check_binaries.py" "$work/wheel_tree" "${build_paths[@]}"
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$1"
  "$work/venv/bin/python" -c '
import ctypes, importlib.util, pathlib, assay
print(assay.version(), assay.store("h200_sxm").gemm(m=300, n=4096, k=4096, dtype="fp8"))
if found := importlib.util.find_spec("assay_allreduce"):
    for path in pathlib.Path(found.origin).parent.glob("*.so*"):
        ctypes.CDLL(str(path))'
}

require_version() {
  [[ $2 == *"$version"* ]] || { echo "$1 --version said: $2" >&2 && exit 1; }
}

# deliver FILE NAME: it appears in the output folder only when whole.
deliver() {
  cp "$1" "$output_dir/.$2.part"
  mv "$output_dir/.$2.part" "$output_dir/$2"
  echo "$output_dir/$2 ($(du -h "$output_dir/$2" | cut -f 1))"
}

build_dir=$(cd "$1" && pwd)
build_paths=("$source_dir" "$build_dir")
mkdir -p "$2"
output_dir=$(cd "$2" && pwd)
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[^=]*=//p' "$build_dir/CMakeCache.txt")
name=assay-$version-linux-$(uname -m)
tree=$work/$name

cmake --install "$build_dir" --prefix "$tree" --strip
"$source_dir/tools/check_binaries.py" "$tree" "${build_paths[@]}"
bundle_libraries "$tree"
mkdir "$tree/samples"
cp -r "$source_dir/samples/traces-2gpu" "$tree/samples/"
cp "$source_dir"/{README.md,CHANGELOG.md,LICENSE} "$tree/"
tar -czf "$work/$name.tar.gz" --sort=name --owner=0 --group=0 --numeric-owner -C "$work" "$name"
said=$(try_archive "$work/$name.tar.gz" "$tree")
require_version assay "$said"
deb=$(make_deb)
require_version "the .deb's assay" "$(try_deb "$deb")"
echo "Needs $(needed_glibc "$tree") or newer; it said: $said"
deliver "$work/$name.tar.gz" "$name.tar.gz"
deliver "$deb" "$(basename "$deb")"
wheel=$(make_wheel)
require_version "the wheel's assay" "$(try_wheel "$wheel")"
deliver "$wheel" "$(basename "$wheel")"
