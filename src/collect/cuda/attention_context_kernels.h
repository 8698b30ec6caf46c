// Assay's kernel for the attention of new tokens in fp8.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/attention_context_tile.h"

namespace assay::collect {

// Queries, keys and values as the copy engine sees them.
struct ContextMaps {
  CUtensorMap query{};
  CUtensorMap keys{};
  CUtensorMap values{};
};

// Softmax(Q K^T scales[0] / sqrt(head_dim)) V scales[1]; all tensors are e4m3 [batch, token, head,
// element] without gaps.
struct ContextArguments {
  context::Shape shape;  // with the queries of a tile that tile_queries_of() gives
  int head_dim = 128;
  int value_dim = 128;
  const float* scales = nullptr;
  void* output = nullptr;
};

struct ContextTensors {
  const void* query = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
};

// Heads of 64, 128 and 256, and MLA's of 192 with values of 128.
constexpr bool has_context_kernel(std::int64_t head_dim, std::int64_t value_dim) {
  if (head_dim == 192) return value_dim == 128;
  return head_dim == value_dim && (head_dim == 64 || head_dim == 128 || head_dim == 256);
}

// Fails with cudaErrorNotSupported where the driver is too old.
cudaError_t map_context(const ContextArguments& arguments,
                        const ContextTensors& tensors,
                        ContextMaps* maps);

// Prepares launches of these heads.
cudaError_t prepare_context(const ContextArguments& arguments);

cudaError_t context_attention(const ContextArguments& arguments,
                              const ContextMaps& maps,
                              int multiprocessors,
                              cudaStream_t stream);

}  // namespace assay::collect
