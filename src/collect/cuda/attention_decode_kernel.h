// Attention of one bfloat16 query of each head to a cache of fp8 with a scale for all keys and one
// for all values: our own kernel. Memory bounds it: keys and values are read once for up to 32
// query heads of a head of keys, 16 where heads are wider than 128, and become halves in registers,
// as queries and weights do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/kernels/attention_layout.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

struct DecodeArguments {
  AttentionSpec spec;      // one query; head_dim 64, 128, 192 or 256
  AttentionLayout layout;  // values lie as keys do
  const void* query = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
  void* output = nullptr;
  const std::int32_t* pages = nullptr;  // null: not paged; else pages of a multiple of 16 tokens
  const float* scales = nullptr;        // of the keys, positive; of the values
  std::int64_t splits = 1;              // of the keys, at most their tiles of 16
  // With splits: [batch, head, split, column], and the largest score and sum of weights of each.
  float* sums = nullptr;
  float* statistics = nullptr;
};

// Blocks that a multiprocessor runs at a time; prepares launches. Error: cudaErrorInvalidValue for
// another head_dim.
cudaError_t prepare_decode(const AttentionSpec& spec, int* blocks_at_a_time);

// One kernel, or with splits two.
cudaError_t decode_attention(const DecodeArguments& arguments, cudaStream_t stream);

}  // namespace assay::collect
