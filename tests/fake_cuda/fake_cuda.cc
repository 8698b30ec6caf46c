// Stands in for libcudart, libcublasLt, libcudnn and libnccl where only their versions are read.
// Built once under each of their names.
#include <cstddef>

extern "C" {

int cudaRuntimeGetVersion(int* to) {
  *to = 13000;
  return 0;
}

std::size_t cublasLtGetVersion() {
  return 130002;
}

std::size_t cudnnGetVersion() {
  return 91400;
}

int ncclGetVersion(int* to) {
  *to = 22803;
  return 0;
}
}
