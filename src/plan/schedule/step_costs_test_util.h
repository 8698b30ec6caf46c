// Costs of steps that tests can compute with.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

#include "plan/schedule/simulate.h"

namespace assay::plan::testing {

// fixed + prompt · prompt tokens + decode · decodes + cached · their tokens in the cache.
class LinearCost : public StepCost {
 public:
  double fixed_ms = 0;
  double prompt_ms = 0;
  double decode_ms = 0;
  double cached_ms = 0;

  explicit LinearCost(double fixed, double prompt = 0, double decode = 0, double cached = 0)
      : fixed_ms(fixed), prompt_ms(prompt), decode_ms(decode), cached_ms(cached) {}

  [[nodiscard]] double ms(const Step& step) const override {
    const auto decodes = static_cast<double>(step.decodes);
    return fixed_ms + prompt_ms * static_cast<double>(step.prompt_tokens()) + decode_ms * decodes +
           cached_ms * decodes * step.decode_cached;
  }
};

// Every step takes a millisecond, and is written down: "2x100@0 1x30@96 d5" is two chunks of 100
// tokens, one of 30 behind 96, and five requests that decode.
class WritingCost : public StepCost {
 public:
  [[nodiscard]] double ms(const Step& step) const override {
    std::string line;
    for (const Chunks& chunk : step.chunks)
      line += fmt::format("{}x{}@{} ", chunk.requests, chunk.new_tokens, chunk.cached_tokens);
    if (step.decodes > 0) line += fmt::format("d{}", step.decodes);
    while (!line.empty() && line.back() == ' ')
      line.pop_back();
    steps.push_back(line);
    return 1;
  }

  mutable std::vector<std::string> steps;
};

inline Workload requests_of(std::vector<Request> requests, std::int64_t concurrency = 0) {
  return {.requests = std::move(requests), .concurrency = concurrency};
}

inline Workload equal_requests(std::size_t count,
                               std::int64_t prompt,
                               std::int64_t output,
                               std::int64_t concurrency) {
  return requests_of(
      std::vector<Request>(count, {.prompt_tokens = prompt, .output_tokens = output}), concurrency);
}

// Steps that a policy makes of a workload, one by one.
inline std::vector<std::string> steps_of(Engine engine,
                                         const Limits& limits,
                                         const Workload& workload) {
  const WritingCost cost;
  const auto metrics =
      simulate(cost, policy_of(engine), limits, workload, {.stepping = Stepping::kOneByOne});
  if (!metrics.ok()) return {metrics.error().message};
  return cost.steps;
}

}  // namespace assay::plan::testing
