#pragma once

#include <cuda_runtime.h>

#include <string>

#include "core/result.h"

namespace assay::allreduce {

inline core::Status cuda_status(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return core::Error{std::string(doing) + ": " + cudaGetErrorString(error)};
}

}  // namespace assay::allreduce
