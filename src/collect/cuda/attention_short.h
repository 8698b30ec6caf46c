// Assay's kernel for attention over at most 16 keys, as many short requests together need it.
#pragma once

#include <cuda_runtime.h>

#include "collect/kernels/attention_layout.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

inline constexpr std::int64_t kMostShortKeys = 16;

// All tensors are bfloat16. A warp computes 16 rows: queries of the heads that share a head of
// keys.
struct ShortArguments {
  AttentionSpec spec;  // at most 16 keys, without pages; heads that has_short_kernel() accepts
  AttentionLayout layout;
  const void* query = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
  void* output = nullptr;
};

// Heads of 64, 128, 192 and 256, and MLA's of 192 with values of 128.
constexpr bool has_short_kernel(std::int64_t head_dim, std::int64_t value_dim) {
  if (head_dim == 192 && value_dim == 128) return true;
  return head_dim == value_dim && head_dim > 0 && head_dim <= 256 && head_dim % 64 == 0;
}

cudaError_t short_attention(const ShortArguments& arguments, cudaStream_t stream);

}  // namespace assay::collect
