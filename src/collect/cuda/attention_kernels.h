// Assay's kernels of attention, and the float64 reference.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"
#include "collect/kernels/attention_layout.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// Attention of one bfloat16 query of each head to a cache of bfloat16, or of fp8, that has a scale
// for all keys and one for all values. The memory bandwidth limits it: keys and values are read
// once for up to 32 query heads that share a head of keys, or 16 where heads are wider than 128. In
// registers those of fp8 become halves, as queries and weights then do.
struct DecodeArguments {
  AttentionSpec spec;      // one query; head_dim 64, 128, 192 or 256; kv_type fp8 or bfloat16
  AttentionLayout layout;  // values have the layout of keys
  const void* query = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
  void* output = nullptr;
  const std::int32_t* pages = nullptr;  // nullptr without pages, which have a multiple of 16 tokens
  const float* scales = nullptr;        // the positive scale of the keys, then that of the values
  std::int64_t sharers = 4;  // warps that share a part of the keys: 4, or 1 without splits
  std::int64_t splits = 1;   // parts of the keys, at most their tiles of 16
  // With splits: sums [batch, head, split, column], and the largest score and the sum of weights of
  // each split.
  float* sums = nullptr;
  float* statistics = nullptr;
};

// Prepares launches and sets `blocks`, the number of blocks that a multiprocessor runs at a time.
// Fails with cudaErrorInvalidValue for another head_dim.
cudaError_t prepare_decode(const AttentionSpec& spec, int* blocks_at_a_time);

// Launches one kernel, or two with splits.
cudaError_t decode_attention(const DecodeArguments& arguments, cudaStream_t stream);

// The softmax between the two products of an attention that no library fuses.
struct SoftmaxArguments {
  AttentionSpec spec;
  const float* scores = nullptr;  // [batch, query, head, pitch], not yet scaled
  void* weights = nullptr;        // of the same shape, in spec.type, bfloat16 or float16
  std::int64_t pitch = 0;         // elements from row to row, at least kv_length
};

// Keys that a query does not see get weight 0.
cudaError_t attention_softmax(const SoftmaxArguments& arguments, cudaStream_t stream);

// The factors of the numbers of a cache.
struct CacheScales {
  double keys = 1;
  double values = 1;
};

struct AttentionCheck {
  AttentionSpec spec;
  AttentionLayout layout;
  const void* query = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
  const void* output = nullptr;
  const std::int32_t* pages = nullptr;  // [batch, pages of a sequence]; nullptr without pages
  CacheScales scales = {};
};

// The number of samples that compare_attention() writes: sampled outputs with their float64 values
// and the allowed deviations.
std::int64_t attention_samples(const AttentionSpec& spec);

cudaError_t compare_attention(const AttentionCheck& check, Sample* samples, cudaStream_t stream);

}  // namespace assay::collect
