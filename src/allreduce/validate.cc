#include "allreduce/validate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/statistics.h"

namespace assay::allreduce {
namespace {

bool is_in(const Cell& cell, const RegretScope& scope) {
  return (!scope.world_size || *scope.world_size == cell.world_size) &&
         (!scope.fusion || *scope.fusion == cell.fusion);
}

// The time of a strategy over both measurements; NaN when one lacks it.
double pooled(const Choice& one, const Choice& other, Strategy strategy) {
  const Timing* first = find_timing(one.timings, strategy);
  const Timing* second = find_timing(other.timings, strategy);
  return first && second ? std::sqrt(first->time_us * second->time_us) : kUnknown;
}

bool are_equally_fast(const Choice& one, const Choice& other, double tie) {
  const double ratio = pooled(one, other, one.strategy) / pooled(one, other, other.strategy);
  return std::abs(std::log(ratio)) <= std::log1p(tie);
}

}  // namespace

Regret regret_of(const Contender& contender, const Timings& held_out, const RegretScope& scope) {
  Regret regret;
  std::vector<double> regrets;
  std::vector<double> logarithms;
  for (const auto& [cell, timings] : restricted(held_out, contender.arms)) {
    if (timings.empty() || !is_in(cell, scope)) continue;
    const Strategy choice = contender.choose(cell);
    const Timing* chosen = find_timing(timings, choice);
    if (!chosen) {
      ++regret.not_measured;
      continue;
    }
    const double ratio = chosen->time_us / timings.front().time_us;
    if (regrets.empty() || ratio - 1 > regret.max) {
      regret.max = ratio - 1;
      regret.worst = cell;
      regret.worst_choice = choice;
      regret.worst_best = timings.front().strategy;
    }
    regrets.push_back(ratio - 1);
    logarithms.push_back(std::log(ratio));
  }
  regret.cells = regrets.size();
  regret.p50 = core::median(regrets);
  regret.p95 = core::quantile(regrets, 0.95);
  regret.geometric_mean = std::expm1(core::mean(logarithms));
  return regret;
}

Stability stability_of(const std::vector<DecidedSlice>& one,
                       const std::vector<DecidedSlice>& other,
                       double tie) {
  Stability stability;
  for (const DecidedSlice& slice : one) {
    for (const DecidedRow& row : slice.rows) {
      for (const Choice& choice : row.choices) {
        const Choice* again = find_choice(other, choice.cell);
        if (!again || !choice.chosen() || !again->chosen()) continue;
        ++stability.cells;
        if (again->strategy == choice.strategy) continue;
        ++stability.different;
        if (!are_equally_fast(choice, *again, tie)) ++stability.beyond_ties;
      }
    }
  }
  return stability;
}

}  // namespace assay::allreduce
