// Attention in float64, of samples of its outputs, with what may be the matter with the others'.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"
#include "collect/kernels/attention_layout.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// What the numbers of a cache are multiplied with.
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
  const std::int32_t* pages = nullptr;  // [batch, pages of a sequence]; null: not paged
  CacheScales scales = {};
};

std::int64_t attention_samples(const AttentionSpec& spec);

// Writes attention_samples() samples.
cudaError_t compare_attention(const AttentionCheck& check, Sample* samples, cudaStream_t stream);

}  // namespace assay::collect
