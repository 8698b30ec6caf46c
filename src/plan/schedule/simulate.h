// A deployment that serves a workload, simulated step by step: its engine's policy chooses what a
// step computes, a StepCost says how long it takes.
//
// Steps that only decode, and between which nothing arrives, ends or lacks memory, are taken many
// at once. Their times are those of a parabola through the first, the middle and the last of them,
// which is exact where the cost is linear in the lengths of the requests (or quadratic, or cubic).
// Where it is linear in pieces, and its slope changes by s ms a token within a run of n steps, the
// run's time errs by at most s n² / 24: a twenty-fourth of what the change makes of all steps.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "plan/schedule/limits.h"
#include "plan/schedule/metrics.h"
#include "plan/schedule/policy.h"
#include "plan/schedule/stepping.h"
#include "plan/schedule/workload.h"
#include "plan/step.h"

namespace assay::plan {

struct SimulationOptions {
  ServiceLevel level = {};
  // The first requests, which run but are not measured; serving benchmarks measure all.
  std::int64_t warm_up_requests = 0;
  Stepping stepping = Stepping::kManyAtOnce;  // kOneByOne: for tests of the other
};

// Fails where the workload or a limit makes no sense, and where a request can never run: its prompt
// and its output fit no cache, or its prompt fits no step.
core::Result<ServingMetrics> simulate(const StepCost& cost,
                                      const Policy& policy,
                                      const Limits& limits,
                                      const Workload& workload,
                                      const SimulationOptions& options = {});

}  // namespace assay::plan
