#include "trace/compare/cut_steps.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace assay::trace {
namespace {

using StepsByNumber = std::map<std::int64_t, RankStep*>;
using StepsByRank = std::map<int, StepsByNumber>;

// Returns the least value of the steps before the last one; NaN where nothing is known.
double least_before(const StepsByNumber& steps, double RankStep::*value) {
  double least = kNaN;
  for (const auto& [number, step] : steps)
    if (number != steps.rbegin()->first) least = std::fmin(least, step->*value);
  return least;
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

// Returns the other ranks that have all of the last step of this one.
std::vector<const StepsByNumber*> witnesses_of(const StepsByRank& run, int rank) {
  std::vector<const StepsByNumber*> witnesses;
  for (const auto& [other, steps] : run)
    if (other != rank && has_all_of(steps, run.at(rank).rbegin()->first))
      witnesses.push_back(&steps);
  return witnesses;
}

// Returns by which part a step is shorter than on each of the others; NaN where none has it.
double shorter_than_others(const RankStep& step, const std::vector<const StepsByNumber*>& others) {
  double shortest_ms = kNaN;
  for (const StepsByNumber* steps : others)
    if (const auto found = steps->find(step.step); found != steps->end())
      shortest_ms = std::fmin(shortest_ms, found->second->period_ms);
  return 1 - step.period_ms / shortest_ms;
}

bool ends_before_others(const StepsByNumber& steps,
                        const std::vector<const StepsByNumber*>& others) {
  double usual = 0;
  for (const auto& [number, step] : steps)
    if (number != steps.rbegin()->first && step->is_whole)
      usual = std::fmax(usual, std::fabs(shorter_than_others(*step, others)));
  return shorter_than_others(*steps.rbegin()->second, others) > usual + kCutPercent / 100;
}

}  // namespace

void mark_cut_steps(std::vector<RankStep>& steps) {
  std::map<int, StepsByRank> runs;
  for (RankStep& step : steps)
    runs[step.run][step.rank][step.step] = &step;
  for (const auto& [number, run] : runs)
    for (const auto& [rank, own] : run)
      if (has_fewer_events(own) && is_clearly_shorter(own) &&
          ends_before_others(own, witnesses_of(run, rank)))
        own.rbegin()->second->is_whole = false;
}

}  // namespace assay::trace
