// Samples of what Assay's grouped product writes, in float64.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collect/cuda/compare.h"
#include "collect/cuda/lt_product.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// A scale takes 256 sums of the first product, so that fewer are compared.
inline constexpr std::int64_t kMostScaleSamples = 64;

std::int64_t activation_samples_of(const MoeArguments& arguments, MoeStage stage);

// Writes activation_samples_of() samples. `stage` is kActivate, or kActivateScales of fp8_block;
// `product` has the operands of the first product, whose weight has this type.
cudaError_t compare_activation(const MoeArguments& arguments,
                               const ProductArguments& product,
                               DataType weight_type,
                               MoeStage stage,
                               Sample* samples,
                               cudaStream_t stream);

// Writes samples_of(pairs * hidden) samples of the second product with a weight of mxfp4.
cudaError_t compare_packed_down(const MoeArguments& arguments,
                                const ProductArguments& product,
                                Sample* samples,
                                cudaStream_t stream);

// Writes samples_of(stage_elements(kCombine)) samples of an output to which the second product has
// added its rows. `product` has the operands of that product, whose weight has this type.
cudaError_t compare_added_rows(const MoeArguments& arguments,
                               const ProductArguments& product,
                               DataType weight_type,
                               Sample* samples,
                               cudaStream_t stream);

}  // namespace assay::collect
