// The kernels that the memory bandwidth limits, and their float64 references.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

struct MemoryArguments {
  const void* input = nullptr;
  const void* other = nullptr;            // the weight of RMSNorm, or the second summand
  const void* residual = nullptr;         // of kAddRmsNorm
  const std::int32_t* indices = nullptr;  // rows of the table, which is the input
  void* output = nullptr;                 // for kRead: read_blocks() float32 sums
  void* sum = nullptr;                    // of kAddRmsNorm: input + residual
};

inline constexpr float kRmsEpsilon = 1e-6F;
inline constexpr int kReadBlocks =
    2048;  // the most blocks of kRead; each writes the sum of its elements

int read_blocks(const MemorySpec& spec);

cudaError_t run_memory_kernel(const MemorySpec& spec,
                              const MemoryArguments& arguments,
                              cudaStream_t stream);

// The number of samples that compare_memory() writes. For kRead it is 1, the sum of the output.
std::int64_t memory_samples(const MemorySpec& spec);
cudaError_t compare_memory(const MemorySpec& spec,
                           const MemoryArguments& arguments,
                           Sample* samples,
                           cudaStream_t stream);

}  // namespace assay::collect
