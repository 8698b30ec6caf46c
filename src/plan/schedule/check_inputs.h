// What is wrong with what a simulation is asked for.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "plan/schedule/limits.h"
#include "plan/schedule/workload.h"

namespace assay::plan {

// Limits that make no sense, and requests that no instance with them can ever run.
core::Status check_inputs(const Limits& limits, const Workload& workload);

core::Status check_warm_up(std::int64_t warm_up_requests, const Workload& workload);

}  // namespace assay::plan
