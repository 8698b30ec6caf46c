// Whether a mixture's tokens went to the right experts and to rows of their own.
#pragma once

#include "collect/cuda/gpu.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/kernels/moe_routing.h"
#include "core/result.h"

namespace assay::collect {

// Experts, rows and shares of all tokens; worst is above 1 where anything is wrong.
core::Result<Accuracy> check_routing(Gpu& gpu,
                                     const MoeArguments& with,
                                     const MoeSpec& spec,
                                     const ExpertChoice& choice);

core::Result<Accuracy> check_stage(Gpu& gpu, const MoeArguments& with, MoeStage stage);

}  // namespace assay::collect
