// Samples of a product's elements in float64, with bounds of the error of the library's product.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"
#include "collect/cuda/lt_product.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// The rows may be those of several experts. Then an expert has row_counts[expert] rows, from
// row_offsets[expert] on. block_scales.h describes the layout of fp8_block's scales.
struct ProductCheck {
  std::int64_t rows = 1;  // rows of all experts or batches, without padding between experts
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;  // each has an equal share of the rows, unless there are row_offsets
  DataType type = DataType::kBfloat16;
  ProductArguments arguments = {};
  // In device memory, or nullptr.
  const std::int32_t* row_offsets = nullptr;  // [batch + 1]
  const std::int32_t* row_counts = nullptr;   // [batch]
  LtAlgorithm algorithm = {};
};

// Writes samples_of(rows * n) samples.
cudaError_t compare_product(const ProductCheck& check, Sample* samples, cudaStream_t stream);

}  // namespace assay::collect
