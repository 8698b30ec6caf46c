#include "trace/compare/attribution_sheet.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/statistics.h"
#include "trace/steady.h"

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

// Steps that differ from the steady state have causes of their own, which the answer names.
std::vector<bool> steady_steps(std::span<const double> lengths_ms) {
  std::vector<bool> steady = find_steady(lengths_ms);
  if (!steady.empty() && steady.size() < kFewestWithoutCause)
    std::fill(steady.begin() + 1, steady.end(), true);
  return steady;
}

}  // namespace

std::optional<core::Result<attribution::Attribution>> attribution_of(const Sides& sides) {
  for (const Configuration* side : {&sides.baseline, &sides.test})
    if (side->executions.empty() || side->executions.size() != side->runs.size())
      return std::nullopt;
  return attribution::attribute(executions_of(sides.baseline), executions_of(sides.test),
                                clock_ratio(sides), steady_steps);
}

}  // namespace assay::trace
