# shellcheck shell=bash
# The programs that run on NVIDIA GPUs. They take as long to build as all others together, so that
# only `./dev gpu`, packages, and the quickstart of a machine with a GPU build them.

cuda_compiler() {
  command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null
}

has_gpu() {
  [[ -e /dev/nvidiactl ]] && cuda_compiler >/dev/null
}

build_gpu_programs() {
  cmake --preset release -DASSAY_CUDA=ON -DASSAY_TESTS=ON
  cmake --build --preset release --parallel "$jobs" --target programs tests_of_gpu_programs
}

test_gpu_programs() {
  ctest --test-dir build/release --parallel "$jobs" --output-on-failure --no-tests=error -L gpu
}

# A package holds the GPU programs where they can be built.
build_for_package() {
  if cuda_compiler >/dev/null; then
    cmake --preset release -DASSAY_CUDA=ON
  else
    echo "No CUDA compiler: the package goes without assay-worker and libassay_allreduce."
  fi
  build release programs
}

run_gpu() {
  if ! cuda_compiler >/dev/null; then
    echo "./dev gpu needs nvcc: install NVIDIA's CUDA toolkit 13 and the headers of NCCL" >&2
    exit 1
  fi
  ask_for_root build test
  lock_build
  begin_steps 3
  step "Installing system packages" install_packages build test
  step "Building the programs that run on GPUs, and their tests" build_gpu_programs
  shown_step "Testing them" test_gpu_programs
}
