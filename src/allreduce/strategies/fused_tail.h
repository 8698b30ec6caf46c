// The fused operators behind a sum that a library left in memory.
#pragma once

#include <functional>
#include <string>

#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {

// Why a call's rows cannot be fused; empty when they can.
std::string fused_tail_refusal(const Arguments& a);

// Has `sum` write the plain sum to where one of the outputs will be, then does what is fused.
core::Status launch_with_tail(
    const Device& device,
    const Arguments& a,
    const Request& request,
    const std::function<core::Status(const Arguments& plain, const Request& request)>& sum);

}  // namespace assay::allreduce
