// What an engine reaches in the long run while a number of requests stays in flight: without the
// wave at the beginning, when all prompts come at once, and without the end, when fewer and fewer
// requests run.
//
// The run begins in the middle: requests are under way, each somewhere in its life, so that no wave
// has to die away first. Behind a span in which what was assumed of them is forgotten, a window of
// time is measured, which goes on while queues still grow or shrink. Latencies follow from it by
// Little's law: the time that requests spent in it waiting for their first token, over the number
// of first tokens, and the time that they spent decoding, over the number of further tokens.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "plan/schedule/limits.h"
#include "plan/schedule/policy.h"
#include "plan/schedule/workload.h"
#include "plan/step.h"

namespace assay::plan {

struct SteadySpan {
  std::int64_t settling = 0;  // requests that end before the first window
  std::int64_t measured = 1;  // that end in a window
  // Windows follow until two in a row agree, which then are measured, or so many have passed.
  std::int64_t most_windows = 4;

  // Requests that end in the longest run.
  [[nodiscard]] std::int64_t most_requests() const { return settling + most_windows * measured; }
};

// How much is enough for a number of requests in flight: a share of a round, but no fewer than some
// dozens.
SteadySpan usual_span(std::int64_t concurrency);

struct SteadyMetrics {
  double ttft_ms = 0;
  double tpot_ms = 0;  // 0: no request has a second token
  double requests_per_s = 0;
  double output_tokens_per_s = 0;
};

// The workload is a closed loop of at least as many requests as are in flight and may end.
// The share `waiting`, in [0, 1], of those in flight waits for its first token at the beginning.
core::Result<SteadyMetrics> simulate_steady(const StepCost& cost,
                                            const Policy& policy,
                                            const Limits& limits,
                                            const Workload& workload,
                                            const SteadySpan& span,
                                            double waiting);

}  // namespace assay::plan
