// Attention in float64, of samples of its outputs, with what may be the matter with the others'.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/attention_layout.h"
#include "collect/cuda/compare.h"
#include "collect/kernels.h"

namespace assay::collect {

struct AttentionCheck {
  AttentionSpec spec;
  AttentionLayout layout;
  const void* query = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
  const void* output = nullptr;
  const std::int32_t* pages = nullptr;  // [batch, pages of a sequence]; null: not paged
};

std::int64_t attention_samples(const AttentionSpec& spec);

// Writes attention_samples() samples.
cudaError_t compare_attention(const AttentionCheck& check, Sample* samples, cudaStream_t stream);

}  // namespace assay::collect
