// The comparison of what a mixture's kernels wrote with what the routing and the float64 references
// say.
#pragma once

#include "collect/cuda/gpu.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/kernels/moe_routing.h"
#include "core/result.h"

namespace assay::collect {

// With wrong experts or rows, no other check may run: it would read outside of its memory.
core::Result<Accuracy> check_routing(Gpu& gpu,
                                     const MoeArguments& arguments,
                                     const MoeSpec& spec,
                                     const ExpertChoice& choice);

core::Result<Accuracy> check_stage(Gpu& gpu, const MoeArguments& arguments, MoeStage stage);

}  // namespace assay::collect
