// A deployment under requests that come by themselves: those of a recorded trace, or arrivals at a
// rate.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/calibrate/calibration.h"
#include "plan/schedule/metrics.h"
#include "plan/schedule/step_log.h"
#include "plan/schedule/workload.h"
#include "plan/serve.h"
#include "plan/serve_disaggregated.h"
#include "plan/step.h"

namespace assay::plan {

struct WorkloadService {
  std::int64_t copies = 1;     // of the worker; requests go to them in turn
  std::int64_t max_batch = 0;  // requests at once of a group; 0: the engine's default
  ServiceLevel level = {};     // that a good request keeps
  // All steps that ran go there; null: nobody asks. Instances that compute prompts alone have a log
  // of their own.
  StepLog* steps = nullptr;
  StepLog* prompt_steps = nullptr;
};

struct WorkloadMetrics {
  ServingMetrics serving = {};  // of all copies
  std::int64_t kv_tokens = 0;   // that the cache of a group holds
  std::int64_t prompt_tokens = 0;
  // Of the prompts' tokens: found in the engines' prefix caches. Prompts that were computed again
  // after their request was thrown out count against it.
  double reused_share = 0;

  // Of a deployment whose prompts are computed by instances of their own.
  struct Pools {
    double prefill_busy_share = 0;  // of the time, in steps
    double decode_busy_share = 0;
    double mean_transfer_ms = 0;
  };

  std::optional<Pools> pools = std::nullopt;
};

// The level that a prediction must keep before its TTFT is multiplied by a calibration's factor.
ServiceLevel before_calibration(ServiceLevel level, const Calibration& calibration);

// The engine's default limits, with prefix caches where prompts of the workload share anything.
// Errors: the model leaves no room for a request, or a request can never run.
core::Result<WorkloadMetrics> serve_workload(const serving::Model& model,
                                             const ServedWorker& worker,
                                             const StepCost& cost,
                                             const Workload& workload,
                                             const WorkloadService& service);

// The same where some instances compute prompts and others decode. kv_tokens and steps are those of
// instances that decode; prefix caches are those of the instances that compute prompts. A prefill
// batch of 0 is the engine's default limit.
core::Result<WorkloadMetrics> serve_workload(const serving::Model& model,
                                             const ServedPools& pools,
                                             const StepCost& prefill_cost,
                                             const StepCost& decode_cost,
                                             const Workload& workload,
                                             const WorkloadService& service);

// The share of the workload's prompt tokens that caches without limits would have.
double most_reused_share(const Workload& workload);

// The means and the extremes of a workload's lengths.
struct WorkloadLengths {
  std::int64_t prompt_mean = 1;
  std::int64_t prompt_most = 1;
  std::int64_t output_mean = 1;
  std::int64_t request_most = 1;  // prompt and answer
};

WorkloadLengths workload_lengths(const Workload& workload);

// Makes requests come at this many a second in the mean. Error: all come at once.
core::Status set_rate(double per_second, Workload& workload);

// Requests a second, in the mean, as if the turns of conversations came with their first ones; 0
// where all come at once.
double rate_of(const Workload& workload);

}  // namespace assay::plan
