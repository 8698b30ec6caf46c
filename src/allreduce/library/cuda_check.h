#pragma once

#include <cuda_runtime.h>

#include <string>

#include "core/result.h"

namespace assay::allreduce {

inline core::Status check_cuda(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return core::Error{doing + ": " + cudaGetErrorString(error)};
}

}  // namespace assay::allreduce
