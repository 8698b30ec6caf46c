// Test data made on the GPU: the same numbers for the same place ever after.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "collect/kernels/kernels.h"

namespace assay::collect {

// What a buffer holds before a work runs.
struct Fill {
  enum class Kind : std::uint8_t {
    kNothing,  // an output
    kUniform,  // in [offset - amplitude, offset + amplitude)
    kIndices,  // int32 in [0, limit)
  } kind = Kind::kNothing;

  DataType type = DataType::kBfloat16;  // int8: whole numbers, amplitude at most 127
  float amplitude = 1;
  float offset = 0;
  std::int32_t limit = 0;
  std::uint32_t seed = 0;  // buffers of a work differ in it

  bool operator==(const Fill& other) const = default;
};

// `bytes` a multiple of 16, `memory` aligned to 16.
cudaError_t fill(void* memory, std::size_t bytes, const Fill& with, cudaStream_t stream);

// Reads all of it, so that the L2 cache holds nothing else; `bytes` a multiple of 16.
cudaError_t read_through(const void* memory, std::size_t bytes, float* to, cudaStream_t stream);

}  // namespace assay::collect
