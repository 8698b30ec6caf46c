#include "trace/compare/cut_steps.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace assay::trace {
namespace {

using StepsByNumber = std::map<std::int64_t, RankStep*>;
using PeriodsByNumber = std::map<std::int64_t, double>;  // ms
using StepsByRank = std::map<int, StepsByNumber>;

// Returns the least value of the steps before the last one; NaN where nothing is known.
double least_before(const StepsByNumber& steps, double RankStep::*value) {
  double least = kNaN;
  for (const auto& [number, step] : steps)
    if (number != steps.rbegin()->first) least = std::fmin(least, step->*value);
  return least;
}

double most_events_before(const StepsByNumber& steps) {
  double most = kNaN;
  for (const auto& [number, step] : steps)
    if (number != steps.rbegin()->first) most = std::fmax(most, step->events);
  return most;
}

bool has_fewer_events(const StepsByNumber& steps) {
  return steps.rbegin()->second->events < least_before(steps, &RankStep::events);
}

bool is_clearly_shorter(const StepsByNumber& steps) {
  return steps.rbegin()->second->period_ms <
         (1 - kCutPercent / 100) * least_before(steps, &RankStep::period_ms);
}

// Returns whether a rank has all of a step.
bool has_all_of(const StepsByNumber& steps, std::int64_t number) {
  if (steps.count(number) == 0) return false;
  return steps.rbegin()->first > number ||
         steps.rbegin()->second->events >= least_before(steps, &RankStep::events);
}

// Returns the shortest period of each step on the ranks that have all of the step `number`.
PeriodsByNumber shortest_beside(const StepsByRank& run, std::int64_t number) {
  PeriodsByNumber shortest_ms;
  for (const auto& [rank, steps] : run) {
    if (!has_all_of(steps, number)) continue;
    for (const auto& [other, step] : steps) {
      double& shortest = shortest_ms.emplace(other, kNaN).first->second;
      shortest = std::fmin(shortest, step->period_ms);
    }
  }
  return shortest_ms;
}

// Returns by which part a step is shorter than on each of the others; NaN where none has it.
double shorter_than_others(const RankStep& step, const PeriodsByNumber& shortest_ms) {
  const auto found = shortest_ms.find(step.step);
  return found == shortest_ms.end() ? kNaN : 1 - step.period_ms / found->second;
}

bool ends_before_others(const StepsByNumber& steps, const PeriodsByNumber& shortest_ms) {
  double usual = 0;
  for (const auto& [number, step] : steps)
    if (number != steps.rbegin()->first && step->is_whole)
      usual = std::fmax(usual, std::fabs(shorter_than_others(*step, shortest_ms)));
  return shorter_than_others(*steps.rbegin()->second, shortest_ms) > usual + kCutPercent / 100;
}

// Returns whether the last step is a fraction of steps before it that are alike.
bool is_fraction(const StepsByNumber& steps) {
  constexpr std::size_t kFewestBefore = 3;
  constexpr double kFraction = 0.5;
  const double least = least_before(steps, &RankStep::events);
  return steps.size() > kFewestBefore &&
         most_events_before(steps) <= (1 + kCutPercent / 100) * least &&
         steps.rbegin()->second->events < kFraction * least && is_clearly_shorter(steps);
}

void mark_run(const StepsByRank& run) {
  if (std::all_of(run.begin(), run.end(),
                  [](const auto& entry) { return is_fraction(entry.second); })) {
    for (const auto& [rank, own] : run)
      own.rbegin()->second->is_whole = false;
    return;
  }
  std::map<std::int64_t, PeriodsByNumber> shortest_ms;  // by the step that others have all of
  for (const auto& [rank, own] : run) {
    if (!has_fewer_events(own) || !is_clearly_shorter(own)) continue;
    // With fewer events the rank itself has not all of its last step.
    const std::int64_t last = own.rbegin()->first;
    const auto [found, is_new] = shortest_ms.try_emplace(last);
    if (is_new) found->second = shortest_beside(run, last);
    if (ends_before_others(own, found->second)) own.rbegin()->second->is_whole = false;
  }
}

}  // namespace

void mark_cut_steps(std::vector<RankStep>& steps) {
  std::map<int, StepsByRank> runs;
  for (RankStep& step : steps)
    runs[step.run][step.rank][step.step] = &step;
  for (const auto& [number, run] : runs)
    mark_run(run);
}

}  // namespace assay::trace
