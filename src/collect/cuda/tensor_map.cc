#include "collect/cuda/tensor_map.h"

#include <cuda_runtime.h>

namespace assay::collect {

EncodeTensorMap encode_tensor_map() {
  static const EncodeTensorMap encode = [] {
    constexpr unsigned kFirstVersion = 12000;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &found, kFirstVersion, cudaEnableDefault, &result);
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess
               ? reinterpret_cast<EncodeTensorMap>(found)
               : nullptr;
  }();
  return encode;
}

}  // namespace assay::collect
