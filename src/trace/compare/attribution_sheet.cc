#include "trace/compare/attribution_sheet.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/step_states.h"

namespace assay::trace {
namespace {

constexpr const char* kClockUnderLoad = "GPU SM clock under load (median)";
constexpr const char* kPowerUnderLoad = "GPU power under load (median)";
constexpr const char* kHeldDown = "GPU clocks held down by";

const model::Fact* fact_named(const model::Facts& facts, std::string_view item) {
  const auto found = std::find_if(facts.begin(), facts.end(),
                                  [item](const model::Fact& fact) { return fact.item == item; });
  return found == facts.end() ? nullptr : &*found;
}

// Returns the mean over runs, or std::nullopt where a run did not record it.
std::optional<double> mean_of_runs(const Configuration& side, std::string_view item) {
  std::vector<double> values;
  for (const RunEnvironment& environment : side.environments)
    if (const model::Fact* fact = fact_named(environment.facts, item);
        fact != nullptr && model::number(fact->value) > 0)
      values.push_back(model::number(fact->value));
  if (values.empty() || values.size() != side.runs.size()) return std::nullopt;
  return core::mean(values);
}

// What held the clocks of a side's runs down, each text once: "software power cap: GPUs 0-7 in 3 of
// 8 looks".
std::vector<std::string> reasons_of(const Configuration& side) {
  std::vector<std::string> reasons;
  for (const RunEnvironment& environment : side.environments) {
    const model::Fact* fact = fact_named(environment.facts, kHeldDown);
    const std::string text = fact == nullptr ? "" : model::text(fact->value);
    if (!text.empty() && std::find(reasons.begin(), reasons.end(), text) == reasons.end())
      reasons.push_back(text);
  }
  return reasons;
}

// Reasons are separated by "; ".
bool only_power(const std::vector<std::string>& reasons) {
  for (const std::string& text : reasons)
    for (std::size_t at = 0; at != std::string::npos;) {
      const std::size_t end = text.find("; ", at);
      if (!core::contains_ignoring_case(text.substr(at, end - at), "power")) return false;
      at = end == std::string::npos ? end : end + 2;
    }
  return !reasons.empty();
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
      const StepSet steady = steady_steps(step_states(*side));
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

std::optional<attribution::ClockChange> clock_change(const Sides& sides) {
  const auto baseline = mean_of_runs(sides.baseline, kClockUnderLoad);
  const auto test = mean_of_runs(sides.test, kClockUnderLoad);
  if (!baseline || !test) return std::nullopt;
  const Configuration& slower = *baseline < *test ? sides.baseline : sides.test;
  return attribution::ClockChange{.ratio = *baseline / *test,
                                  .by_power = only_power(reasons_of(slower))};
}

std::string conditions_in_words(const Sides& sides) {
  std::vector<std::string> texts;
  const auto add = [&](const char* what, std::string_view item, const char* unit) {
    const auto baseline = mean_of_runs(sides.baseline, item);
    const auto test = mean_of_runs(sides.test, item);
    if (baseline && test)
      texts.push_back(fmt::format("{} {:.0f} to {:.0f} {}", what, *baseline, *test, unit));
  };
  add("SM clock", kClockUnderLoad, "MHz");
  add("power", kPowerUnderLoad, "W");
  for (const Configuration* side : {&sides.baseline, &sides.test})
    for (const std::string& reason : reasons_of(*side))
      texts.push_back(fmt::format("{} held down by {}", side->label, reason));
  return texts.empty() ? "" : "GPUs under load: " + core::join(texts, ", ") + ".";
}

std::optional<core::Result<attribution::Attribution>> attribution_of(const Sides& sides) {
  for (const Configuration* side : {&sides.baseline, &sides.test})
    if (side->executions.empty() || side->executions.size() != side->runs.size())
      return std::nullopt;
  const SteadySteps steady(sides);
  auto result = attribution::attribute(
      executions_of(sides.baseline), executions_of(sides.test), clock_change(sides),
      [&steady](const path::Execution& execution) { return steady.of(execution); });
  if (const std::string words = conditions_in_words(sides); result.ok() && !words.empty())
    result.value().notes.push_back(words);
  return result;
}

}  // namespace assay::trace
