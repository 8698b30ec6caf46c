// Products in float64, of samples of their elements, with what may be the matter with the others'.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/block_scales.h"
#include "collect/cuda/compare.h"
#include "collect/cuda/lt_product.h"
#include "collect/kernels.h"

namespace assay::collect {

// Rows may be those of several experts: an expert's rows begin at row_offsets[expert].
struct ProductCheck {
  std::int64_t rows = 1;  // of all experts or batches together
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;  // rows of equal shares, unless there are row_offsets
  DataType type = DataType::kBfloat16;
  ProductArguments arguments = {};
  const std::int32_t* row_offsets = nullptr;  // of batch + 1 entries, on the device; may be null
  InputScales input_scales = {};              // of fp8_block
  WeightScales weight_scales = {};
  LtAlgorithm algorithm = {};
};

// Writes samples_of(rows * n) samples.
cudaError_t compare_product(const ProductCheck& check, Sample* samples, cudaStream_t stream);

}  // namespace assay::collect
