// The conversion of bfloat16 to fp8 with one scale for the tensor, and its reference.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"

namespace assay::collect {

inline constexpr float kLargestFp8 = 448;
inline constexpr float kLeastMaximum = 1e-12F;  // so that no scale is 0
inline constexpr int kMaximumBlocks = 1024;     // blocks of the search for the largest number

struct QuantizeArguments {
  const void* input = nullptr;  // bfloat16
  void* output = nullptr;       // fp8: input / scale
  float* scale = nullptr;       // given, or written as largest / 448
  float* maxima = nullptr;      // [kMaximumBlocks]; nullptr if the scale is given
  std::int64_t count = 0;       // number of elements
};

cudaError_t quantize(const QuantizeArguments& arguments, cudaStream_t stream);

// Converts two tensors in one launch, with given scales. The second may have no elements.
cudaError_t quantize_both(const QuantizeArguments& first,
                          const QuantizeArguments& second,
                          cudaStream_t stream);

// Writes samples_of(count) samples of the output and one of the scale.
cudaError_t compare_quantized(const QuantizeArguments& arguments,
                              Sample* samples,
                              cudaStream_t stream);

}  // namespace assay::collect
