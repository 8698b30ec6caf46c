#include "allreduce/estimates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "allreduce/time_curves.h"

namespace assay::allreduce {

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

using SliceKey = std::tuple<int, DataType, Fusion>;

void scale(Timing& timing, double factor) {
  timing.time_us *= factor;
  timing.low_us *= factor;
  timing.high_us *= factor;
}

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
  Extrapolation(const Timings& timings, int sm_version)
      : timings_(timings),
        curves_(timings),
        capacities_(capacities_of(timings)),
        sm_version_(sm_version) {}

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
    const double limit = link_limit_us(strategy, world_size, cell.size_bytes(), sm_version_);
    scale(timing, std::max(in_order_us(cell, strategy, world_size, timing.time_us), limit) /
                      timing.time_us);
    return timing;
  }

  // More GPUs never sum a message sooner, but times of small ones scatter around a constant.
  // Returns the time between those that were measured of the message with fewer and with more GPUs.
  [[nodiscard]] double in_order_us(Cell cell,
                                   Strategy strategy,
                                   int world_size,
                                   double time_us) const {
    double least = 0;
    double most = std::numeric_limits<double>::infinity();
    for (const int measured : measured_world_sizes(timings_, cell.data_type, cell.fusion)) {
      cell.world_size = measured;
      const auto found = timings_.find(cell);
      const Timing* timing =
          found == timings_.end() ? nullptr : find_timing(found->second, strategy);
      if (timing && measured < world_size) least = std::max(least, timing->time_us);
      if (timing && measured > world_size) most = std::min(most, timing->time_us);
    }
    return std::max(least, std::min(most, time_us));
  }

  const Timings& timings_;
  TimeCurves curves_;
  Capacities capacities_;
  int sm_version_;
};

// Calls back with each number of GPUs that a type and fusion was not tried with, and what it is
// extrapolated from.
template <class Callback>
void for_each_estimate(const Timings& timings,
                       const std::vector<int>& world_sizes,
                       const Callback& callback) {
  std::set<std::pair<DataType, Fusion>> kinds;
  std::set<SliceKey> tried;
  for (const auto& [cell, of_cell] : timings) {
    if (!of_cell.empty()) kinds.emplace(cell.data_type, cell.fusion);
    tried.insert({cell.world_size, cell.data_type, cell.fusion});
  }
  for (const auto& [data_type, fusion] : kinds) {
    const std::vector<int> measured = measured_world_sizes(timings, data_type, fusion);
    for (const int world_size : world_sizes) {
      if (tried.contains({world_size, data_type, fusion})) continue;
      callback(SliceKey{nearest_world_size(measured, world_size), data_type, fusion}, world_size);
    }
  }
}

}  // namespace

Timings extrapolated_timings(const Timings& timings,
                             const std::vector<int>& world_sizes,
                             int sm_version) {
  const Extrapolation extrapolation(timings, sm_version);
  Timings result;
  for_each_estimate(timings, world_sizes, [&](const SliceKey& from, int world_size) {
    extrapolation.add(result, from, world_size);
  });
  return result;
}

Failures extrapolated_failures(const Failures& failures,
                               const Timings& timings,
                               const std::vector<int>& world_sizes) {
  Failures result;
  for_each_estimate(timings, world_sizes, [&](const SliceKey& from, int world_size) {
    for (const auto& [cell, strategies] : failures) {
      if (SliceKey{cell.world_size, cell.data_type, cell.fusion} != from) continue;
      Cell target = cell;
      target.world_size = world_size;
      result.emplace(target, strategies);
    }
  });
  return result;
}

}  // namespace assay::allreduce
