// Assay's kernel for MLA's decoding: one query of each head over a cache of latents.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "model/data_type.h"

namespace assay::collect {

// Softmax(Q K^T / sqrt(576)) V, where a key has 576 elements and its first 512 are its value; all
// heads share the keys. Query bfloat16 [batch, heads, 576], output bfloat16 [batch, heads, 512]. A
// cache of fp8 becomes halves in registers, as queries and weights do.
struct MlaDecodeArguments {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t keys = 1;       // of each sequence
  std::int64_t page_size = 0;  // a multiple of 64 tokens, or 0 without pages
  std::int64_t pages_per_sequence = 0;
  model::DataType cache = model::DataType::kBfloat16;  // or fp8
  const void* query = nullptr;
  void* output = nullptr;
  const std::int32_t* pages = nullptr;
  const float* scale = nullptr;  // of a cache of fp8
  std::int64_t splits = 1;       // parts of the keys, at most their tiles of 64
  // With splits: sums [batch, head, split, 512], and the largest score and the sum of weights of
  // each split.
  float* sums = nullptr;
  float* statistics = nullptr;
  // Where all blocks of a launch run at a time, they can join the parts themselves, and count
  // those that are there: one counter for each sequence and block of heads, 0 at first. Without
  // counters, a second kernel joins.
  unsigned* counters = nullptr;
};

// The cache as the copy engine sees it.
struct MlaCacheMaps {
  CUtensorMap latents{};
  CUtensorMap rotated{};  // the last 64 elements of keys of fp8
};

// `rows` is the number of keys in the cache. Fails with cudaErrorNotSupported where the driver is
// too old.
cudaError_t map_mla_cache(const void* cache,
                          std::int64_t rows,
                          model::DataType type,
                          MlaCacheMaps* maps);

// Prepares launches of this cache's type and this number of heads.
cudaError_t prepare_mla_decode(const MlaDecodeArguments& arguments);

// Launches one kernel, or two with splits and without counters.
cudaError_t mla_decode(const MlaDecodeArguments& arguments,
                       const MlaCacheMaps& maps,
                       cudaStream_t stream);

}  // namespace assay::collect
