// A router's logits, made so that each token goes to the experts that are meant for it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace assay::collect {

// Eighths from 0 to 1.875, and 4 more for those that are to be chosen. bfloat16 has them exactly.
__host__ __device__ inline float router_logit(std::int64_t token,
                                              std::int64_t expert,
                                              bool chosen) {
  const auto mixed = static_cast<std::uint64_t>(token * 7919 + expert * 104729);
  const float low = static_cast<float>(mixed * 0x9E3779B97F4A7C15ULL >> 60U) / 8.0F;
  return chosen ? low + 4.0F : low;
}

struct RouterLogits {
  std::int64_t tokens = 1;
  std::int64_t experts = 1;
  std::int64_t top_k = 1;
  const std::int32_t* chosen = nullptr;  // [tokens, top_k], different ones for a token
  void* logits = nullptr;                // bfloat16 [tokens, experts], written
};

cudaError_t write_logits(const RouterLogits& with, cudaStream_t stream);

}  // namespace assay::collect
