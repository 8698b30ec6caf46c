#pragma once

#include <cuda_runtime.h>

#include <string>

#include "core/result.h"

namespace assay::collect {

// Messages of errors that more memory would have avoided begin with this.
inline constexpr const char* kOutOfMemory = "out of memory";

inline core::Status cuda_status(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // else the next call fails with it
  if (error == cudaErrorMemoryAllocation)
    return core::Error{std::string(kOutOfMemory) + ": " + doing};
  return core::Error{std::string(doing) + ": " + cudaGetErrorString(error)};
}

// Of the kernel just launched.
inline core::Status launch_status(const char* kernel) {
  return cuda_status(cudaGetLastError(), kernel);
}

}  // namespace assay::collect
