#include "allreduce/plot/grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core/text.h"

namespace assay::allreduce {
namespace {

bool has_time(const Measurement& measurement) {
  return measurement.outcome == Outcome::kOk && measurement.time_us > 0;
}

template <class Value>
void sort_unique(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

core::Error nothing_of(const Benchmark& benchmark, Fusion fusion) {
  std::vector<std::string> names;
  for (const Fusion other : fusions_of(benchmark))
    names.emplace_back(name_of(other));
  return core::Error{fmt::format("no time of the fusion {}; there are times of {}", name_of(fusion),
                                 names.empty() ? "no fusion at all" : core::join(names, ", "))};
}

// Returns true if two measurements can be in the same figure.
bool alike(const Measurement& a, const Measurement& b) {
  return a.cell.world_size == b.cell.world_size && a.cell.data_type == b.cell.data_type &&
         a.launch == b.launch;
}

std::string text_of(const Measurement& measurement) {
  return fmt::format("TP {}, {}, {}", measurement.cell.world_size,
                     name_of(measurement.cell.data_type), name_of(measurement.launch));
}

using Key = std::pair<Strategy, Cell>;

// Returns the mean of the measurements that have a time, or the first one if none has, or one that
// failed if any did.
Measurement joined(const std::vector<const Measurement*>& same, int sm_version) {
  for (const Measurement* one : same) {
    const std::optional<Failure> failure = failure_of(*one, sm_version);
    if (!failure) continue;
    Measurement failed = *one;
    if (failed.outcome == Outcome::kOk) failed.outcome = Outcome::kError;
    failed.reason = failure->reason;
    return failed;
  }
  Measurement result = *same.front();
  double sum = 0;
  std::int64_t count = 0;
  for (const Measurement* one : same) {
    if (!has_time(*one)) continue;
    if (count == 0) {
      result = *one;
      result.samples = 0;
    }
    sum += one->time_us;
    ++count;
    result.samples += one->samples;
    result.low_us = std::fmin(result.low_us, one->low_us);
    result.high_us = std::fmax(result.high_us, one->high_us);
    result.min_us = std::fmin(result.min_us, one->min_us);
  }
  if (count > 0) result.time_us = sum / static_cast<double>(count);
  return result;
}

void fill_axes(Grid& grid) {
  for (const Measurement& measurement : grid.measurements) {
    grid.hidden_sizes.push_back(measurement.cell.hidden_size);
    grid.token_counts.push_back(measurement.cell.num_tokens);
  }
  sort_unique(grid.hidden_sizes);
  sort_unique(grid.token_counts);
  std::reverse(grid.hidden_sizes.begin(), grid.hidden_sizes.end());
  for (const StrategySpec& spec : kStrategies) {
    const auto is_it = [&](const Measurement& one) { return one.strategy == spec.strategy; };
    if (std::any_of(grid.measurements.begin(), grid.measurements.end(), is_it)) {
      grid.strategies.push_back(spec.strategy);
    }
  }
}

void fill_positions(Grid& grid) {
  const auto& rows = grid.hidden_sizes;
  const auto& columns = grid.token_counts;
  grid.positions.assign(grid.strategies.size() * rows.size() * columns.size(), -1);
  for (std::size_t i = 0; i < grid.measurements.size(); ++i) {
    const Cell& cell = grid.measurements[i].cell;
    const auto row = std::lower_bound(rows.begin(), rows.end(), cell.hidden_size, std::greater<>());
    const auto column = std::lower_bound(columns.begin(), columns.end(), cell.num_tokens);
    const std::size_t place =
        grid.place(grid.measurements[i].strategy, static_cast<std::size_t>(row - rows.begin()),
                   static_cast<std::size_t>(column - columns.begin()));
    grid.positions[place] = static_cast<std::ptrdiff_t>(i);
  }
}

}  // namespace

std::size_t Grid::place(Strategy strategy, std::size_t row, std::size_t column) const {
  const auto which = std::find(strategies.begin(), strategies.end(), strategy);
  const auto index = static_cast<std::size_t>(which - strategies.begin());
  return (index * hidden_sizes.size() + row) * token_counts.size() + column;
}

const Measurement* Grid::tried(Strategy strategy, std::size_t row, std::size_t column) const {
  const std::size_t at = place(strategy, row, column);
  if (at >= positions.size() || positions[at] < 0) return nullptr;
  return &measurements[static_cast<std::size_t>(positions[at])];
}

const Measurement* Grid::timed(Strategy strategy, std::size_t row, std::size_t column) const {
  const Measurement* found = tried(strategy, row, column);
  return found != nullptr && has_time(*found) ? found : nullptr;
}

const Measurement* Grid::best(std::size_t row,
                              std::size_t column,
                              const std::vector<Strategy>& arms) const {
  const Measurement* best = nullptr;
  for (const Strategy strategy : strategies) {
    if (!arms.empty() && std::find(arms.begin(), arms.end(), strategy) == arms.end()) continue;
    const Measurement* one = timed(strategy, row, column);
    if (one == nullptr || strategy == Strategy::kAuto) continue;
    if (best == nullptr || one->time_us < best->time_us) best = one;
  }
  return best;
}

const Measurement* Grid::runner_up(std::size_t row, std::size_t column) const {
  const Measurement* first = best(row, column);
  const Measurement* next = nullptr;
  for (const Strategy strategy : strategies) {
    const Measurement* one = timed(strategy, row, column);
    if (one == nullptr || one == first || strategy == Strategy::kAuto) continue;
    if (next == nullptr || one->time_us < next->time_us) next = one;
  }
  return next;
}

std::optional<double> Grid::difference_percent(Strategy strategy,
                                               std::size_t row,
                                               std::size_t column,
                                               const std::vector<Strategy>& arms) const {
  const Measurement* one = timed(strategy, row, column);
  const Measurement* fastest = best(row, column, arms);
  if (one == nullptr || fastest == nullptr) return std::nullopt;
  return (one->time_us - fastest->time_us) / fastest->time_us * 100;
}

std::string Grid::subject() const {
  constexpr std::array<std::string_view, kLaunchNames.size()> kWords = {
      "CUDA graph", "eager launches", "isolated calls"};
  const std::string sm = sm_version == 0 ? "" : fmt::format("SM {}, ", sm_version);
  return fmt::format("TP {}, {}{}, {}", world_size, sm, name_of(data_type),
                     kWords.at(static_cast<std::size_t>(launch)));
}

core::Result<Grid> grid_of(const Benchmark& benchmark, Fusion fusion) {
  std::map<Key, std::vector<const Measurement*>> cells;
  const Measurement* first = nullptr;
  bool any_time = false;
  for (const Measurement& measurement : benchmark.measurements) {
    if (measurement.cell.fusion != fusion) continue;
    if (first == nullptr) first = &measurement;
    if (!alike(*first, measurement)) {
      return core::Error{
          fmt::format("a figure shows one TP, data type and way to launch, not {} "
                      "and {}",
                      text_of(*first), text_of(measurement))};
    }
    any_time = any_time || has_time(measurement);
    cells[{measurement.strategy, measurement.cell}].push_back(&measurement);
  }
  if (!any_time) return nothing_of(benchmark, fusion);
  Grid grid;
  grid.sm_version = benchmark.sm_version;
  grid.world_size = first->cell.world_size;
  grid.data_type = first->cell.data_type;
  grid.launch = first->launch;
  grid.fusion = fusion;
  for (const auto& cell : cells)
    grid.measurements.push_back(joined(cell.second, benchmark.sm_version));
  fill_axes(grid);
  fill_positions(grid);
  return grid;
}

std::vector<Fusion> fusions_of(const Benchmark& benchmark) {
  std::vector<Fusion> fusions;
  for (const Measurement& measurement : benchmark.measurements) {
    if (has_time(measurement)) fusions.push_back(measurement.cell.fusion);
  }
  sort_unique(fusions);
  return fusions;
}

}  // namespace assay::allreduce
