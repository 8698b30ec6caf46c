// The fused operators behind a sum that a library left in memory.
#pragma once

#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {

// `sum` may be a.output or a.residual_out: each vector is read before it is written.
cudaError_t launch_fused_tail(const Device& device,
                              const Arguments& a,
                              const Request& request,
                              const uint4* sum);

// Where such a sum can lie until then: one of the outputs. Null when none can hold it.
uint4* place_for_sum(const Arguments& a, Fusion fusion);

}  // namespace assay::allreduce
