// The time of a step as an engine runs it: as a captured graph, or kernel by kernel.
#pragma once

#include <cstdint>
#include <span>

#include "plan/schedule/limits.h"
#include "plan/schedule/policy.h"
#include "plan/step.h"

namespace assay::plan {

class StepTime {
 public:
  StepTime(const StepCost& cost, const Policy& policy, const Limits& limits)
      : cost_(&cost), policy_(&policy), limits_(&limits) {}

  // `further` tokens are in the cache of each decoding request beyond those that the step says.
  [[nodiscard]] double ms(Step step, double further = 0) const;

  // The step as it is computed: filled up to the size of the graph that holds it.
  [[nodiscard]] Step as_run(Step step) const;

  // Tokens that are computed: of a request that decodes also those that were drafted.
  [[nodiscard]] std::int64_t tokens_of(const Step& step) const;

  // Tokens of a group, in the mean of groups that run these steps at once: where all have graphs,
  // those of the largest, to which engines fill the others.
  [[nodiscard]] double group_tokens(std::span<const Step> steps) const;

  [[nodiscard]] bool eager(const Step& step) const { return captured_size(step) == 0; }

 private:
  [[nodiscard]] std::int64_t graph_size(const Step& step) const;
  // The size of the graph that holds the step; 0 where none does.
  [[nodiscard]] std::int64_t captured_size(const Step& step) const;
  void fill(Step& step, std::int64_t captured) const;

  const StepCost* cost_;
  const Policy* policy_;
  const Limits* limits_;
};

// The times of steps in a row of which each decoding request grows by a token: a parabola.
class StepRun {
 public:
  // Times of the first, the middle and the last of `steps` steps; fewer steps need fewer.
  StepRun(std::int64_t steps, double first_ms, double middle_ms, double last_ms);

  // From the beginning of the first step to the end of the step number `steps`.
  [[nodiscard]] double until_ms(std::int64_t steps) const;
  // The least number of steps, up to `most`, that take longer than `ms`.
  [[nodiscard]] std::int64_t steps_beyond(double ms, std::int64_t most) const;

 private:
  double constant_ = 0;
  double linear_ = 0;
  double square_ = 0;
};

}  // namespace assay::plan
