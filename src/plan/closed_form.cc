#include "plan/closed_form.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay::plan {

SteadyLatencies steady_latencies(const StepCost& cost, const SteadyLoad& load) {
  const std::int64_t new_tokens =
      std::max<std::int64_t>(1, load.prompt_tokens - load.cached_prefix);
  const std::int64_t chunk = std::min(new_tokens, load.token_budget);
  const double prompt_steps =
      std::ceil(static_cast<double>(new_tokens) / static_cast<double>(chunk));
  const auto decode_steps = static_cast<double>(std::max<std::int64_t>(1, load.output_tokens - 1));
  const auto concurrency = static_cast<double>(load.concurrency);
  const double stay = prompt_steps + decode_steps;
  const auto decodes = static_cast<std::int64_t>(std::llround(concurrency * decode_steps / stay));
  const double cached = static_cast<double>(load.prompt_tokens) + 0.5 * decode_steps;
  const std::array<Chunks, 1> chunks = {
      Chunks{.requests = 1,
             .new_tokens = chunk,
             .cached_tokens = load.cached_prefix + (new_tokens - chunk) / 2}};
  SteadyLatencies found;
  found.decode_step_ms =
      cost.ms({.decodes = std::max<std::int64_t>(1, decodes), .decode_cached = cached});
  found.mixed_step_ms = cost.ms(
      {.chunks = chunks, .finished_prompts = 1, .decodes = decodes, .decode_cached = cached});
  const double mixed = std::min(1.0, concurrency / stay * prompt_steps);
  found.mixed_share = mixed;
  const double mean = mixed * found.mixed_step_ms + (1 - mixed) * found.decode_step_ms;
  found.tpot_ms = mean;
  found.ttft_ms = 0.5 * mean + prompt_steps * found.mixed_step_ms;
  found.requests_per_s = 1000 * concurrency / (stay * mean);
  return found;
}

}  // namespace assay::plan
