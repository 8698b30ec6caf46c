// Products in float64, of samples of their elements, with what may be the matter with the others'.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"
#include "collect/cuda/lt_product.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// Rows may be those of several experts: an expert has row_counts[expert] of them, from
// row_offsets[expert] on. Scales of fp8_block lie as block_scales.h says.
struct ProductCheck {
  std::int64_t rows = 1;  // of all experts or batches together, without filling between experts
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;  // rows of equal shares, unless there are row_offsets
  DataType type = DataType::kBfloat16;
  ProductArguments arguments = {};
  // On the device, or null.
  const std::int32_t* row_offsets = nullptr;  // [batch + 1]
  const std::int32_t* row_counts = nullptr;   // [batch]
  LtAlgorithm algorithm = {};
};

// Writes samples_of(rows * n) samples.
cudaError_t compare_product(const ProductCheck& check, Sample* samples, cudaStream_t stream);

}  // namespace assay::collect
