#include "plan/closed_form.h"

#include <algorithm>
#include <cmath>

namespace assay::plan {

SteadySteps steady_steps(const SteadyLoad& load) {
  const std::int64_t new_tokens =
      std::max<std::int64_t>(1, load.prompt_tokens - load.cached_prefix);
  const std::int64_t chunk = std::min(new_tokens, load.token_budget);
  const auto decode_steps = static_cast<double>(std::max<std::int64_t>(1, load.output_tokens - 1));
  const auto concurrency = static_cast<double>(load.concurrency);
  SteadySteps steps;
  steps.prompt_steps = std::ceil(static_cast<double>(new_tokens) / static_cast<double>(chunk));
  steps.stay = steps.prompt_steps + decode_steps;
  steps.decodes = static_cast<std::int64_t>(std::llround(concurrency * decode_steps / steps.stay));
  steps.decode_cached = static_cast<double>(load.prompt_tokens) + 0.5 * decode_steps;
  steps.chunks = {Chunks{.requests = 1,
                         .new_tokens = chunk,
                         .cached_tokens = load.cached_prefix + (new_tokens - chunk) / 2}};
  steps.mixed_share = std::min(1.0, concurrency / steps.stay * steps.prompt_steps);
  return steps;
}

SteadyLatencies steady_latencies(const StepCost& cost, const SteadyLoad& load) {
  const SteadySteps steps = steady_steps(load);
  SteadyLatencies found;
  found.decode_step_ms = cost.ms(steps.decoding());
  found.mixed_step_ms = cost.ms(steps.mixed());
  found.mixed_share = steps.mixed_share;
  const double mean =
      found.mixed_share * found.mixed_step_ms + (1 - found.mixed_share) * found.decode_step_ms;
  found.tpot_ms = mean;
  found.ttft_ms = 0.5 * mean + steps.prompt_steps * found.mixed_step_ms;
  found.requests_per_s = 1000 * static_cast<double>(load.concurrency) / (steps.stay * mean);
  return found;
}

}  // namespace assay::plan
