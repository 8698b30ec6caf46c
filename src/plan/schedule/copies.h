// Copies of a deployment that share a workload: requests go to them in turn.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "plan/schedule/limits.h"
#include "plan/schedule/metrics.h"
#include "plan/schedule/policy.h"
#include "plan/schedule/step_log.h"
#include "plan/schedule/workload.h"
#include "plan/step.h"

namespace assay::plan {

struct CopiesOptions {
  std::int64_t copies = 1;
  ServiceLevel level = {};
  StepLog* log = nullptr;  // of all steps
};

// What clients see of all copies together. Each has a scheduler and caches of its own, so that what
// one request leaves in a cache is found only by those that go to the same copy.
// Errors: as simulate(), and a workload without arrival times.
core::Result<ServingMetrics> simulate_copies(const StepCost& cost,
                                             const Policy& policy,
                                             const Limits& limits,
                                             const Workload& workload,
                                             const CopiesOptions& options);

}  // namespace assay::plan
