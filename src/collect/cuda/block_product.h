// Products of few tokens with a weight in blocks of fp8, by Assay's own kernel. Such a product
// takes as long as reading its weight, so that the kernel is about keeping enough of it under way.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "collect/cuda/lt_product.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

inline constexpr std::int64_t kMostBlockTokens = 64;

// Returns whether the kernel can do it: fp8_block, one product, at most kMostBlockTokens tokens,
// and n and k that 128 divides.
bool block_product_takes(const GemmSpec& spec);

// Returns the numbers of parts, each done by another block of threads, that the sum over k may
// have.
std::vector<int> block_product_splits(const GemmSpec& spec);

// The layout of the scales is that of block_scales.h.
cudaError_t block_product(const GemmSpec& spec,
                          const ProductArguments& arguments,
                          int splits,
                          cudaStream_t stream);

}  // namespace assay::collect
