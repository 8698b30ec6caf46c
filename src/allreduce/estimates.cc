#include "allreduce/estimates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "allreduce/row_threads.h"
#include "allreduce/time_curves.h"

namespace assay::allreduce {
namespace {

using SliceKey = std::tuple<int, DataType, Fusion>;

constexpr std::int64_t kHiddenStep = 64;
// Below this part of the busy threads of the rows beside, a row has times of its own.
constexpr double kBusyEnough = 0.9;

// The cells of a slice by hidden size, with their token counts.
using Shapes = std::map<std::int64_t, std::set<std::int64_t>>;

std::map<SliceKey, Shapes> shapes_of(const Timings& timings) {
  std::map<SliceKey, Shapes> slices;
  for (const auto& [cell, of_cell] : timings) {
    if (of_cell.empty()) continue;
    slices[{cell.world_size, cell.data_type, cell.fusion}][cell.hidden_size].insert(
        cell.num_tokens);
  }
  return slices;
}

double busy(Strategy strategy, const Cell& cell, std::int64_t hidden_size) {
  return busy_threads(strategy, cell.fusion, cell.world_size, hidden_size, cell.data_type);
}

// Returns busy threads beside / busy threads here, at least 1.
double idle_factor(Strategy strategy, const Cell& cell, const Neighbours& rows) {
  const double narrower = busy(strategy, cell, rows.narrower->first);
  const double wider = busy(strategy, cell, rows.wider->first);
  const double part = part_between(cell.hidden_size, rows.narrower->first, rows.wider->first);
  const double beside = std::pow(narrower, 1 - part) * std::pow(wider, part);
  return std::max(1.0, beside / busy(strategy, cell, cell.hidden_size));
}

bool has_idle_threads(const Cell& cell, const Neighbours& rows) {
  return std::any_of(kStrategies.begin(), kStrategies.end(), [&](const StrategySpec& spec) {
    return idle_factor(spec.strategy, cell, rows) > 1 / kBusyEnough;
  });
}

void scale(Timing& timing, double factor) {
  timing.time_us *= factor;
  timing.low_us *= factor;
  timing.high_us *= factor;
}

std::optional<Timing> time_with_idle_threads(const TimeCurves& curves,
                                             const Cell& cell,
                                             const Neighbours& rows,
                                             Strategy strategy) {
  std::optional<Timing> timing = curves.at(cell, strategy);
  Cell plain_cell = cell;
  plain_cell.fusion = Fusion::kNone;
  const auto plain = timing ? curves.at(plain_cell, strategy) : std::nullopt;
  if (!plain) return timing;
  const double share = std::max(0.0, 1 - plain->time_us / timing->time_us);
  scale(*timing, 1 + share * (idle_factor(strategy, cell, rows) - 1));
  return timing;
}

void add_row(Timings& estimated,
             const TimeCurves& curves,
             const Neighbours& rows,
             const std::set<std::int64_t>& tokens,
             Cell cell) {
  for (const std::int64_t count : tokens) {
    cell.num_tokens = count;
    std::vector<Timing> of_cell;
    for (const StrategySpec& spec : kStrategies) {
      const auto timing = time_with_idle_threads(curves, cell, rows, spec.strategy);
      if (timing) of_cell.push_back(*timing);
    }
    sort_by_time(of_cell);
    if (!of_cell.empty()) estimated.emplace(cell, std::move(of_cell));
  }
}

void add_rows(Timings& estimated,
              const TimeCurves& curves,
              const SliceKey& key,
              const Shapes& shapes) {
  const auto& [world_size, data_type, fusion] = key;
  const TimeCurves::Rows& rows = *curves.rows(world_size, data_type, fusion);
  const std::int64_t first = shapes.begin()->first / kHiddenStep * kHiddenStep + kHiddenStep;
  for (std::int64_t hidden = first; hidden < shapes.rbegin()->first; hidden += kHiddenStep) {
    if (shapes.count(hidden) > 0) continue;
    const Neighbours beside = neighbours_of(rows, hidden);
    const Cell cell{
        .world_size = world_size, .data_type = data_type, .fusion = fusion, .hidden_size = hidden};
    if (!beside.narrower || !beside.wider || !has_idle_threads(cell, beside)) continue;
    std::set<std::int64_t> tokens = shapes.at(beside.narrower->first);
    const auto& of_wider = shapes.at(beside.wider->first);
    tokens.insert(of_wider.begin(), of_wider.end());
    add_row(estimated, curves, beside, tokens, cell);
  }
}

}  // namespace

Timings timings_between_rows(const Timings& timings) {
  const TimeCurves curves(timings);
  Timings estimated;
  for (const auto& [key, shapes] : shapes_of(timings)) {
    if (std::get<Fusion>(key) != Fusion::kNone) add_rows(estimated, curves, key, shapes);
  }
  return estimated;
}

int nearest_world_size(const std::vector<int>& measured, int world_size) {
  int best = 0;
  double least = 0;
  for (const int candidate : measured) {
    const double distance = std::abs(std::log(static_cast<double>(candidate) / world_size));
    const bool as_near = best != 0 && std::abs(distance - least) < 1e-9;
    if (best != 0 && distance > least && !as_near) continue;
    best = as_near ? std::max(best, candidate) : candidate;
    least = distance;
  }
  return best;
}

std::vector<int> measured_world_sizes(const Timings& timings, DataType data_type, Fusion fusion) {
  std::set<int> sizes;
  for (const auto& [cell, of_cell] : timings) {
    if (cell.data_type == data_type && cell.fusion == fusion && !of_cell.empty()) {
      sizes.insert(cell.world_size);
    }
  }
  return {sizes.begin(), sizes.end()};
}

namespace {

// Returns the largest message that each strategy was timed with, by number of GPUs, type and
// fusion.
using Capacities = std::map<std::pair<SliceKey, Strategy>, std::int64_t>;

Capacities capacities_of(const Timings& timings) {
  Capacities capacities;
  for (const auto& [cell, of_cell] : timings) {
    const SliceKey key{cell.world_size, cell.data_type, cell.fusion};
    for (const Timing& timing : of_cell) {
      std::int64_t& most = capacities[{key, timing.strategy}];
      most = std::max(most, cell.size_bytes());
    }
  }
  return capacities;
}

class Extrapolation {
 public:
  explicit Extrapolation(const Timings& timings)
      : timings_(timings), curves_(timings), capacities_(capacities_of(timings)) {}

  void add(Timings& result, const SliceKey& from, int world_size) const {
    for (const auto& [cell, of_cell] : timings_) {
      if (SliceKey{cell.world_size, cell.data_type, cell.fusion} != from || of_cell.empty()) {
        continue;
      }
      Cell target = cell;
      target.world_size = world_size;
      std::vector<Timing> times = times_at(cell, of_cell, world_size);
      if (!times.empty()) result.emplace(target, std::move(times));
    }
  }

 private:
  [[nodiscard]] std::vector<Timing> times_at(const Cell& cell,
                                             const std::vector<Timing>& of_cell,
                                             int world_size) const {
    std::vector<Timing> times;
    for (const Timing& timing : of_cell) {
      if (timing.strategy != Strategy::kAuto && fits(cell, timing.strategy, world_size)) {
        times.push_back(time(cell, timing.strategy, world_size));
      }
    }
    sort_by_time(times);
    return times;
  }

  [[nodiscard]] bool fits(const Cell& cell, Strategy strategy, int world_size) const {
    if (strategy != Strategy::kOneshot) return true;
    const SliceKey key{cell.world_size, cell.data_type, cell.fusion};
    return cell.size_bytes() * world_size <= capacities_.at({key, strategy}) * cell.world_size;
  }

  [[nodiscard]] Timing time(const Cell& cell, Strategy strategy, int world_size) const {
    const auto& rows = *curves_.rows(cell.world_size, cell.data_type, cell.fusion);
    const Curve& curve = rows.at(cell.hidden_size).at(strategy);
    const double ratio = sent_part(strategy, world_size) / sent_part(strategy, cell.world_size);
    Timing timing = time_beyond(curve, static_cast<double>(cell.size_bytes()) * ratio);
    const double limit = link_limit_us(strategy, world_size, cell.size_bytes());
    if (timing.time_us < limit) scale(timing, limit / timing.time_us);
    return timing;
  }

  const Timings& timings_;
  TimeCurves curves_;
  Capacities capacities_;
};

}  // namespace

Timings extrapolated_timings(const Timings& timings, const std::vector<int>& world_sizes) {
  std::set<std::pair<DataType, Fusion>> kinds;
  for (const auto& [cell, of_cell] : timings) {
    if (!of_cell.empty()) kinds.emplace(cell.data_type, cell.fusion);
  }
  const Extrapolation extrapolation(timings);
  Timings result;
  for (const auto& [data_type, fusion] : kinds) {
    const std::vector<int> measured = measured_world_sizes(timings, data_type, fusion);
    for (const int world_size : world_sizes) {
      if (std::find(measured.begin(), measured.end(), world_size) != measured.end()) continue;
      extrapolation.add(result, {nearest_world_size(measured, world_size), data_type, fusion},
                        world_size);
    }
  }
  return result;
}

}  // namespace assay::allreduce
