#include "allreduce/decide_row.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "allreduce/row_path.h"

namespace assay::allreduce {
namespace {

constexpr double kChangePrice = 0.1;  // in ties
constexpr double kBackPrice = 1;
constexpr double kCostUnits = 1e9;  // of a natural logarithm

std::int64_t cost_of(double logarithm) {
  return std::llround(logarithm * kCostUnits);
}

// The strategies that may be chosen, in the order of their ranks.
std::vector<Strategy> in_order(const std::vector<Strategy>& strategies) {
  std::vector<Strategy> ordered;
  for (const StrategySpec& spec : kStrategies) {
    const bool allowed =
        std::find(strategies.begin(), strategies.end(), spec.strategy) != strategies.end();
    if (allowed && spec.strategy != Strategy::kAuto) ordered.push_back(spec.strategy);
  }
  std::sort(ordered.begin(), ordered.end(),
            [](Strategy a, Strategy b) { return spec_of(a).rank < spec_of(b).rank; });
  return ordered;
}

std::vector<std::int64_t> costs_of(const Choice& cell,
                                   const std::vector<Strategy>& strategies,
                                   double tie) {
  std::vector<std::int64_t> costs;
  for (const Strategy strategy : strategies) {
    const Timing* timing = find_timing(cell.timings, strategy);
    costs.push_back(timing ? cost_of(loss_beyond_noise(*timing, cell.timings.front(), tie))
                           : kImpossible);
  }
  return costs;
}

Why why_chosen(const Choice& choice, const Choice* neighbour, double tie) {
  if (choice.timings.size() == 1) return Why::kOnly;
  const Timing& fastest = choice.timings.front();
  if (loss_beyond_noise(*choice.chosen(), fastest, tie) > 0) return Why::kKeepsOrder;
  if (neighbour && spec_of(choice.strategy).rank < spec_of(neighbour->strategy).rank) {
    const Timing* other = find_timing(choice.timings, neighbour->strategy);
    if (other && loss_beyond_noise(*other, *choice.chosen(), tie) > 0) return Why::kAgainstOrder;
  }
  const bool tied = loss_beyond_noise(*choice.runner_up(), *choice.chosen(), tie) == 0;
  return tied ? Why::kTie : Why::kFaster;
}

// Has the strategies that were timed in both; none: there is no cell between.
Choice halfway(const Choice& smaller, const Choice& larger) {
  const auto from = static_cast<double>(smaller.cell.num_tokens);
  const auto to = static_cast<double>(larger.cell.num_tokens);
  Choice middle{.cell = smaller.cell};
  middle.cell.num_tokens = std::llround(std::sqrt(from * to));
  const auto tokens = static_cast<double>(middle.cell.num_tokens);
  if (tokens == from || tokens == to) return middle;
  const double part = std::log(tokens / from) / std::log(to / from);
  for (const Timing& timing : smaller.timings) {
    const Timing* other = find_timing(larger.timings, timing.strategy);
    if (other) middle.timings.push_back(interpolated(timing, *other, part));
  }
  sort_by_time(middle.timings);
  return middle;
}

std::vector<Choice> halfway_cells(const std::vector<Choice*>& measured) {
  std::vector<Choice> cells;
  for (std::size_t i = 1; i < measured.size(); ++i) {
    Choice cell = halfway(*measured[i - 1], *measured[i]);
    if (!cell.timings.empty()) cells.push_back(std::move(cell));
  }
  return cells;
}

void choose_path(const std::vector<Choice*>& cells, const DecisionOptions& options) {
  const std::vector<Strategy> strategies = in_order(options.strategies);
  std::vector<int> ranks;
  ranks.reserve(strategies.size());
  for (const Strategy strategy : strategies)
    ranks.push_back(spec_of(strategy).rank);
  std::vector<std::vector<std::int64_t>> costs;
  costs.reserve(cells.size());
  for (const Choice* choice : cells)
    costs.push_back(costs_of(*choice, strategies, options.tie));
  const std::int64_t tie = cost_of(std::log1p(options.tie));
  const std::vector<std::size_t> path =
      cheapest_path(costs, ranks,
                    {.change = std::llround(kChangePrice * static_cast<double>(tie)),
                     .back = std::llround(kBackPrice * static_cast<double>(tie))});
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i]->strategy = strategies[path[i]];
}

void choose_measured(const std::vector<Choice*>& measured,
                     std::vector<Choice>& between,
                     const DecisionOptions& options) {
  std::vector<Choice*> cells = measured;
  for (Choice& cell : between)
    cells.push_back(&cell);
  std::sort(cells.begin(), cells.end(),
            [](const Choice* a, const Choice* b) { return a->cell < b->cell; });
  choose_path(cells, options);
  for (std::size_t i = 0; i < measured.size(); ++i)
    measured[i]->why = why_chosen(*measured[i], i == 0 ? nullptr : measured[i - 1], options.tie);
  for (Choice& cell : between)
    cell.why = why_chosen(cell, nullptr, options.tie);
}

// The measured cell that is nearest by the ratio of bytes; the smaller of two.
const Choice* nearest(const std::vector<Choice*>& measured, const Cell& cell) {
  const auto distance = [&](const Choice* choice) {
    return std::abs(std::log2(static_cast<double>(choice->cell.num_tokens) /
                              static_cast<double>(cell.num_tokens)));
  };
  const auto found =
      std::min_element(measured.begin(), measured.end(),
                       [&](const Choice* a, const Choice* b) { return distance(a) < distance(b); });
  return found == measured.end() ? nullptr : *found;
}

}  // namespace

void decide_row(DecidedRow& row, const DecisionOptions& options) {
  std::vector<Choice*> measured;
  for (Choice& choice : row.choices) {
    if (!choice.timings.empty()) measured.push_back(&choice);
  }
  row.between = halfway_cells(measured);
  choose_measured(measured, row.between, options);
  for (Choice& choice : row.choices) {
    if (!choice.timings.empty()) continue;
    const Choice* neighbour = nearest(measured, choice.cell);
    choice.strategy = neighbour ? neighbour->strategy : options.fallback;
    choice.why = Why::kNoData;
  }
}

}  // namespace assay::allreduce
