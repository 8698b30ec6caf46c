// The softmax between the two products of an attention that no library fuses.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/kernels/kernels.h"

namespace assay::collect {

struct SoftmaxArguments {
  AttentionSpec spec;
  const float* scores = nullptr;  // [batch, query, head, pitch], not yet scaled
  void* weights = nullptr;        // the same in spec.type, bfloat16 or float16
  std::int64_t pitch = 0;         // elements from row to row, at least kv_length
};

// Keys that a query does not see get weight 0.
cudaError_t attention_softmax(const SoftmaxArguments& arguments, cudaStream_t stream);

}  // namespace assay::collect
