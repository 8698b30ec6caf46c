// A disaggregated deployment under the load of a closed loop: some instances compute prompts,
// others decode.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/schedule/disaggregated.h"
#include "plan/serve.h"

namespace assay::plan {

// Equal instances of one worker.
struct ServedPool {
  ServedWorker worker = {};
  std::int64_t instances = 1;
};

struct ServedPools {
  ServedPool prefill = {};
  std::int64_t prefill_batch = 1;  // prompts that a batch of such an instance computes at once
  ServedPool decode = {};
  CacheTransfer transfer = {};
};

// The limits of an instance that computes so many prompts at once, of each batch, and nothing else.
// TensorRT-LLM's run without overlapped scheduling, as its own examples do. Error: no prompt fits.
core::Result<Limits> prefill_limits(const serving::Model& model,
                                    const ServedWorker& worker,
                                    std::int64_t batch,
                                    const ClosedLoop& load);

// `load` is that of all instances. Errors: as limits_of(), or no step can hold a request.
core::Result<DisaggregatedMetrics> serve_disaggregated(const serving::Model& model,
                                                       const ServedPools& pools,
                                                       const StepCost& prefill_cost,
                                                       const StepCost& decode_cost,
                                                       const ClosedLoop& load);

// The mean TTFT of it alone, in much less time.
core::Result<double> serve_disaggregated_ttft_ms(const serving::Model& model,
                                                 const ServedPools& pools,
                                                 const StepCost& prefill_cost,
                                                 const StepCost& decode_cost,
                                                 const ClosedLoop& load);

// What it reaches in the long run, as simulate_long_run() tells: without the wave of prompts at the
// beginning and the end that benchmarks count. load.requests_each is not read; `waiting`, in [0,
// 1), is the expected share of the time that a request waits for its first token.
core::Result<LongRunMetrics> serve_disaggregated_steadily(const serving::Model& model,
                                                          const ServedPools& pools,
                                                          const StepCost& prefill_cost,
                                                          const StepCost& decode_cost,
                                                          const ClosedLoop& load,
                                                          double waiting);

}  // namespace assay::plan
