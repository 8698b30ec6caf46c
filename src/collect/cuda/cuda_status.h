#pragma once

#include <cuda_runtime.h>

#include <string>

#include "core/result.h"

namespace assay::collect {

// The beginning of the messages of errors that more memory would have avoided.
inline constexpr const char* kOutOfMemory = "out of memory";

inline core::Status cuda_status(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // clears the error, with which the next call would fail, too
  if (error == cudaErrorMemoryAllocation)
    return core::Error{std::string(kOutOfMemory) + ": " + doing};
  return core::Error{std::string(doing) + ": " + cudaGetErrorString(error)};
}

// Returns the status of the kernel launch just before.
inline core::Status launch_status(const char* kernel) {
  return cuda_status(cudaGetLastError(), kernel);
}

}  // namespace assay::collect
