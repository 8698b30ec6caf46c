// Prompts on some instances, decoding on others: a prompt's cache is sent from one to the other.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "plan/schedule/simulate.h"
#include "plan/schedule/step_log.h"

namespace assay::plan {

// Equal instances. Requests go to them in turn.
struct Pool {
  const StepCost* cost = nullptr;
  Limits limits;
  std::int64_t instances = 1;
};

// From one instance of prompts to one that decodes. Each instance of prompts sends one cache after
// the other.
struct CacheTransfer {
  double bytes_per_token = 0;  // of a prompt, over all GPUs of an instance
  double gbps = 0;             // 1e9 bytes a second, of all links of an instance
  double latency_ms = 0;
};

struct DisaggregatedMetrics {
  // About requests as clients see them: the first token comes out when its cache has arrived, and
  // waits for a place only after that. About steps, batches and caches: of the instances that
  // decode.
  ServingMetrics serving;
  // Shares of the time in which instances of each pool ran steps.
  double prefill_busy_share = 0;
  double decode_busy_share = 0;
  double mean_prefill_batch = 0;
  double mean_transfer_ms = 0;  // from the end of a prompt to the arrival of its cache
};

// The front end is that of the pool of prompts. Instances of prompts free a cache when its prompt
// ends, a step or a transfer earlier than engines do; instances that decode take memory when a
// cache has come, engines before it is sent. A request whose output is one token is never sent.
core::Result<DisaggregatedMetrics> simulate_disaggregated(const Policy& policy,
                                                          const Pool& prefill,
                                                          const Pool& decode,
                                                          const CacheTransfer& transfer,
                                                          const Workload& workload,
                                                          const SimulationOptions& options = {});

// The mean TTFT alone of that simulation, which ends with the last first token.
core::Result<double> simulate_disaggregated_ttft_ms(const Policy& policy,
                                                    const Pool& prefill,
                                                    const Pool& decode,
                                                    const CacheTransfer& transfer,
                                                    const Workload& workload);

// Copies that share a workload, and what a good request keeps.
struct SharedCopies {
  std::int64_t copies = 1;
  ServiceLevel level = {};
  // Of the instances of both pools; null: nobody asks.
  StepLog* prompt_steps = nullptr;
  StepLog* decode_steps = nullptr;
};

// Copies of the deployment, among which requests of a workload with arrival times are shared in
// turn, and those of one client together. Errors: as simulate_disaggregated(), and a closed loop.
core::Result<DisaggregatedMetrics> simulate_disaggregated_copies(const Policy& policy,
                                                                 const Pool& prefill,
                                                                 const Pool& decode,
                                                                 const CacheTransfer& transfer,
                                                                 const Workload& workload,
                                                                 const SharedCopies& shared);

// How long a deployment in the long run is looked at, in requests that end.
struct LongRun {
  std::int64_t settling = 0;  // before what is measured
  std::int64_t measured = 1;
  // The share of the requests in flight that wait for their first token at the beginning, in [0,
  // 1).
  double waiting = 0;
};

// Means of the requests whose first token, or whose end, lies in what is measured.
struct LongRunMetrics {
  double ttft_ms = 0;
  double tpot_ms = 0;  // 0: no request has a second token
  double requests_per_s = 0;
  double output_tokens_per_s = 0;
  double mean_transfer_ms = 0;
};

// The same deployment under a closed loop, without the wave of prompts at the beginning and without
// the end, when fewer and fewer requests run: at the beginning requests are under way, each
// somewhere in its answer. The workload has at least as many requests as are in flight and end.
core::Result<LongRunMetrics> simulate_long_run(const Policy& policy,
                                               const Pool& prefill,
                                               const Pool& decode,
                                               const CacheTransfer& transfer,
                                               const Workload& workload,
                                               const LongRun& run);

}  // namespace assay::plan
