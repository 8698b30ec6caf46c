// The data that works read. A kernel makes it on the GPU, and it is the same in every run.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "collect/kernels/kernels.h"

namespace assay::collect {

// The contents of a buffer before a work runs.
struct Fill {
  enum class Kind : std::uint8_t {
    kNothing,  // if the buffer is an output
    kUniform,  // in [offset - amplitude, offset + amplitude)
    kIndices,  // int32 in [0, limit)
  } kind = Kind::kNothing;

  DataType type = DataType::kBfloat16;  // int8 gets whole numbers, with an amplitude of at most 127
  float amplitude = 1;
  float offset = 0;
  std::int32_t limit = 0;
  std::uint32_t seed = 0;  // differs between the buffers of a work

  bool operator==(const Fill& other) const = default;
};

// Fills memory that is aligned to 16 bytes; `bytes` is a multiple of 16.
cudaError_t fill(void* memory, std::size_t bytes, const Fill& contents, cudaStream_t stream);

// Reads the memory, so that the L2 cache holds nothing else afterwards; `bytes` is a multiple
// of 16.
cudaError_t read_through(const void* memory, std::size_t bytes, float* to, cudaStream_t stream);

// Returns a multiple of 1/8 from 0 to 1.875, plus 4 for experts that are to be chosen. bfloat16
// represents all of these numbers exactly.
__host__ __device__ inline float router_logit(std::int64_t token,
                                              std::int64_t expert,
                                              bool chosen) {
  const auto mixed = static_cast<std::uint64_t>(token * 7919 + expert * 104729);
  const float low = static_cast<float>(mixed * 0x9E3779B97F4A7C15ULL >> 60U) / 8.0F;
  return chosen ? low + 4.0F : low;
}

// Logits with which a router chooses the given experts for each token.
struct RouterLogits {
  std::int64_t tokens = 1;
  std::int64_t experts = 1;
  std::int64_t top_k = 1;
  const std::int32_t* chosen = nullptr;  // [tokens, top_k]; the experts of a token differ
  void* logits = nullptr;                // bfloat16 [tokens, experts], an output
};

cudaError_t write_logits(const RouterLogits& router, cudaStream_t stream);

// Fills the input of a collective. collect/kernels/collective_pattern.h defines the numbers.
cudaError_t fill_collective(void* input, const CollectiveSpec& spec, int rank, cudaStream_t stream);

// The differences that compare_collective() finds, in device memory.
struct CollectiveFindings {
  unsigned long long wrong;
  unsigned long long at;  // the place of one wrong element
  float value;            // its value
};

// Compares the output of a collective with what it should be, and overwrites the findings.
cudaError_t compare_collective(const void* output,
                               const CollectiveSpec& spec,
                               int rank,
                               CollectiveFindings* findings,
                               cudaStream_t stream);

}  // namespace assay::collect
