#include "trace/compare/attribution_sheet.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "trace/compare/step_states.h"

namespace assay::trace {
namespace {

constexpr const char* kClockUnderLoad = "GPU SM clock under load (median)";

// Returns the mean over runs, or std::nullopt where a run did not record it.
std::optional<double> clock_under_load(const Configuration& side) {
  std::vector<double> clocks;
  for (const RunEnvironment& environment : side.environments)
    for (const model::Fact& fact : environment.facts)
      if (fact.item == kClockUnderLoad && model::number(fact.value) > 0)
        clocks.push_back(model::number(fact.value));
  if (clocks.empty() || clocks.size() != side.runs.size()) return std::nullopt;
  return core::mean(clocks);
}

std::optional<double> clock_ratio(const Sides& sides) {
  const auto baseline = clock_under_load(sides.baseline);
  const auto test = clock_under_load(sides.test);
  if (!baseline || !test) return std::nullopt;
  return *baseline / *test;
}

std::vector<const path::Execution*> executions_of(const Configuration& side) {
  std::vector<const path::Execution*> result;
  for (const auto& execution : side.executions)
    result.push_back(execution.get());
  return result;
}

// The steps that the answer counts: those that are not steady have causes of their own, which it
// names.
class SteadySteps {
 public:
  explicit SteadySteps(const Sides& sides) {
    for (const Configuration* side : {&sides.baseline, &sides.test}) {
      const StepSet steady = steady_steps(step_states(rank_steps(side->ranks)));
      for (std::size_t i = 0; i < side->executions.size(); ++i)
        add(*side->executions[i], side->runs[i], steady);
    }
  }

  [[nodiscard]] std::vector<bool> of(const path::Execution& execution) const {
    return counts_.at(&execution);
  }

 private:
  // A run none of whose steps is steady on all of its ranks counts as a whole.
  void add(const path::Execution& execution, int run, const StepSet& steady) {
    std::vector<bool> counts;
    for (const path::StepMark& step : execution.steps)
      counts.push_back(!execution.has_steps || steady.count({run, step.number}) > 0);
    if (std::find(counts.begin(), counts.end(), true) == counts.end())
      counts.assign(counts.size(), true);
    counts_[&execution] = std::move(counts);
  }

  std::map<const path::Execution*, std::vector<bool>> counts_;
};

}  // namespace

std::optional<core::Result<attribution::Attribution>> attribution_of(const Sides& sides) {
  for (const Configuration* side : {&sides.baseline, &sides.test})
    if (side->executions.empty() || side->executions.size() != side->runs.size())
      return std::nullopt;
  const SteadySteps steady(sides);
  return attribution::attribute(
      executions_of(sides.baseline), executions_of(sides.test), clock_ratio(sides),
      [&steady](const path::Execution& execution) { return steady.of(execution); });
}

}  // namespace assay::trace
