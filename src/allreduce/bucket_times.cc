#include "allreduce/bucket_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "allreduce/codegen/lookup_table.h"
#include "allreduce/time_curves.h"

namespace assay::allreduce {
namespace {

constexpr int kPointsOfAxis = 4;

// Returns the values of a bucket from `start` to below twice that: those served, or some that are
// evenly spread by ratio.
std::vector<std::int64_t> points_of(std::int64_t start, const std::vector<std::int64_t>& served) {
  std::set<std::int64_t> points;
  for (const std::int64_t value : served) {
    if (value >= start && value < 2 * start) points.insert(value);
  }
  for (int i = 0; served.empty() && i < kPointsOfAxis; ++i) {
    points.insert(static_cast<std::int64_t>(static_cast<double>(start) *
                                            std::exp2(static_cast<double>(i) / kPointsOfAxis)));
  }
  return {points.begin(), points.end()};
}

// Returns the cells that decide an entry.
std::vector<Cell> cells_of(const Cell& entry, const ServedShapes& served) {
  const auto hidden_sizes = points_of(entry.hidden_size, served.hidden_sizes);
  const auto num_tokens = points_of(entry.num_tokens, served.num_tokens);
  std::vector<Cell> cells;
  for (const std::int64_t hidden_size : hidden_sizes) {
    for (const std::int64_t tokens : num_tokens) {
      cells.push_back(entry);
      cells.back().hidden_size = hidden_size;
      cells.back().num_tokens = tokens;
    }
  }
  return cells;
}

Timing least_known(const Timing& one, const Timing& other) {
  Timing result = one;
  result.runs = std::min(one.runs, other.runs);
  result.confidence = std::min(one.confidence, other.confidence);
  return result;
}

struct Logarithms {
  std::size_t count = 0;
  double time = 0;
  double low = 0;
  double high = 0;
  Timing any = {};

  void add(const Timing& timing) {
    ++count;
    time += std::log(timing.time_us);
    low += std::log(timing.low_us);
    high += std::log(timing.high_us);
    any = count == 1 ? timing : least_known(any, timing);
  }

  [[nodiscard]] Timing mean() const {
    const auto n = static_cast<double>(count);
    Timing timing = any;
    timing.time_us = std::exp(time / n);
    timing.low_us = std::exp(low / n);
    timing.high_us = std::exp(high / n);
    return timing;
  }
};

std::vector<Timing> means_over(const std::vector<Cell>& cells, const TimeCurves& curves) {
  std::map<Strategy, Logarithms> sums;
  std::size_t most = 0;
  for (const Cell& cell : cells) {
    for (const StrategySpec& spec : kStrategies) {
      const auto timing = curves.at(cell, spec.strategy);
      if (!timing) continue;
      sums[spec.strategy].add(*timing);
      most = std::max(most, sums[spec.strategy].count);
    }
  }
  std::vector<Timing> means;
  for (const auto& [strategy, logarithms] : sums) {
    if (logarithms.count == most) means.push_back(logarithms.mean());
  }
  sort_by_time(means);
  return means;
}

std::vector<Timing> means_of_entry(const Cell& entry,
                                   const ServedShapes& served,
                                   const TimeCurves& curves) {
  std::vector<Timing> means = means_over(cells_of(entry, served), curves);
  return means.empty() && !served.empty() ? means_over(cells_of(entry, {}), curves) : means;
}

bool is_timed(const Cell& cell, const TimeCurves& curves) {
  return std::any_of(kStrategies.begin(), kStrategies.end(), [&](const StrategySpec& spec) {
    return curves.at(cell, spec.strategy).has_value();
  });
}

// Returns the largest value of an axis that is not above `value`, or 0 below its first.
template <class Axis>
std::int64_t floored(const Axis& axis, std::int64_t value) {
  const auto after = std::upper_bound(axis.begin(), axis.end(), value);
  return after == axis.begin() ? 0 : *(after - 1);
}

// Returns the entry that answers for the cell; beyond the grid there is none.
std::optional<Cell> entry_of(const Cell& cell) {
  Cell entry = cell;
  entry.hidden_size = floored(kPublicHiddenSizes, cell.hidden_size);
  entry.num_tokens = floored(kPublicTokens, cell.num_tokens);
  const bool inside =
      cell.hidden_size < 2 * entry.hidden_size && cell.num_tokens < 2 * entry.num_tokens;
  return inside ? std::optional(entry) : std::nullopt;
}

// Returns the entries in whose buckets something was measured.
std::set<Cell> measured_entries(const Timings& timings) {
  std::set<Cell> entries;
  for (const auto& [cell, of_cell] : timings) {
    const std::optional<Cell> entry = entry_of(cell);
    if (entry && !of_cell.empty()) entries.insert(*entry);
  }
  return entries;
}

}  // namespace

Timings bucket_timings(const Timings& timings,
                       const ServedShapes& served,
                       const Failures& failures) {
  const TimeCurves curves(timings, failures);
  const Failures of_buckets = bucket_failures(failures);
  Timings buckets;
  for (const Cell& entry : measured_entries(timings)) {
    std::vector<Timing> means = means_of_entry(entry, served, curves);
    if (const auto failed = of_buckets.find(entry); failed != of_buckets.end()) {
      std::erase_if(means,
                    [&](const Timing& timing) { return failed->second.contains(timing.strategy); });
    }
    if (!means.empty()) buckets.emplace(entry, std::move(means));
  }
  return buckets;
}

Failures bucket_failures(const Failures& failures) {
  Failures buckets;
  for (const auto& [cell, strategies] : failures) {
    const std::optional<Cell> entry = entry_of(cell);
    if (entry) buckets[*entry].insert(strategies.begin(), strategies.end());
  }
  return buckets;
}

ServedShapes unused_shapes(const Timings& timings, const ServedShapes& served) {
  const TimeCurves curves(timings);
  ServedShapes unused = served;
  for (const Cell& entry : measured_entries(timings)) {
    for (const Cell& cell : cells_of(entry, served)) {
      if (!is_timed(cell, curves)) continue;
      std::erase(unused.hidden_sizes, cell.hidden_size);
      std::erase(unused.num_tokens, cell.num_tokens);
    }
  }
  return unused;
}

}  // namespace assay::allreduce
