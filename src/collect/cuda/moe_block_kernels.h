// A mixture's tokens and activations in fp8 with a scale for each 128 elements of a row.
#pragma once

#include <cuda_runtime.h>

#include "collect/cuda/moe_kernels.h"

namespace assay::collect {

// Hidden and intermediate sizes are multiples of 128. An error is that of the launch.
void gather_in_blocks(const MoeArguments& with, cudaStream_t stream);
void activate_in_blocks(const MoeArguments& with, cudaStream_t stream);

}  // namespace assay::collect
