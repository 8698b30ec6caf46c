// The operators that are fused behind a sum that a library left in memory.
#pragma once

#include <functional>
#include <string>

#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {

// Returns why the operators of a call cannot follow its sum; empty when they can.
std::string fused_tail_refusal(const Arguments& a, Fusion fusion);

// Has `sum` write the plain sum to the place of an output, then runs the fused operators on it.
core::Status launch_with_tail(
    const Device& device,
    const Arguments& a,
    const Request& request,
    const std::function<core::Status(const Arguments& plain, const Request& request)>& sum);

}  // namespace assay::allreduce
