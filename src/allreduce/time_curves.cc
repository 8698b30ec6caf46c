#include "allreduce/time_curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace assay::allreduce {
namespace {

// Returns the first point of at least this size.
Curve::const_iterator first_from(const Curve& curve, double bytes) {
  return std::find_if(curve.begin(), curve.end(),
                      [&](const CurvePoint& point) { return point.bytes >= bytes; });
}

const Curve* curve_in(const TimeCurves::Rows::value_type* row, Strategy strategy) {
  if (!row) return nullptr;
  const auto curve = row->second.find(strategy);
  return curve == row->second.end() ? nullptr : &curve->second;
}

double along(double time, double slope, double bytes) {
  return time + slope * bytes;
}

}  // namespace

bool has_failed_beside(const Curve& curve, double bytes) {
  const auto larger = first_from(curve, bytes);
  if (larger != curve.end() && larger->has_failed) return true;
  const bool is_point = larger != curve.end() && larger->bytes == bytes;
  return !is_point && larger != curve.begin() && (larger - 1)->has_failed;
}

std::optional<Timing> time_at(const Curve& curve, double bytes) {
  const auto larger = first_from(curve, bytes);
  if (larger == curve.end()) return std::nullopt;
  if (larger->bytes == bytes && !larger->has_failed) return larger->timing;
  if (larger == curve.begin() || has_failed_beside(curve, bytes)) return std::nullopt;
  const CurvePoint& smaller = *(larger - 1);
  return interpolated(smaller.timing, larger->timing,
                      (bytes - smaller.bytes) / (larger->bytes - smaller.bytes));
}

Timing time_beyond(const Curve& curve, double bytes) {
  if (bytes <= curve.front().bytes) return curve.front().timing;
  if (const auto inside = time_at(curve, bytes)) return *inside;
  const CurvePoint& last = curve.back();
  if (curve.size() == 1) return last.timing;
  const CurvePoint& before = *(curve.end() - 2);
  const double slope =
      std::max(0.0, last.timing.time_us - before.timing.time_us) / (last.bytes - before.bytes);
  Timing timing = last.timing;
  timing.time_us = along(last.timing.time_us, slope, bytes - last.bytes);
  timing.low_us = last.timing.low_us / last.timing.time_us * timing.time_us;
  timing.high_us = last.timing.high_us / last.timing.time_us * timing.time_us;
  return timing;
}

TimeCurves::TimeCurves(const Timings& timings, const Failures& failures) {
  const auto curve_of = [&](const Cell& cell, Strategy strategy) -> Curve& {
    return slices_[{cell.world_size, cell.data_type, cell.fusion}][cell.hidden_size][strategy];
  };
  for (const auto& [cell, of_cell] : timings) {
    for (const Timing& timing : of_cell) {
      curve_of(cell, timing.strategy)
          .push_back({.bytes = static_cast<double>(cell.size_bytes()), .timing = timing});
    }
  }
  for (const auto& [cell, strategies] : failures) {
    const auto bytes = static_cast<double>(cell.size_bytes());
    for (const auto& [strategy, failure] : strategies) {
      Curve& curve = curve_of(cell, strategy);
      curve.insert(first_from(curve, bytes),
                   {.bytes = bytes, .timing = {.strategy = strategy}, .has_failed = true});
    }
  }
}

const TimeCurves::Rows* TimeCurves::rows(int world_size, DataType data_type, Fusion fusion) const {
  const auto found = slices_.find({world_size, data_type, fusion});
  return found == slices_.end() ? nullptr : &found->second;
}

Neighbours neighbours_of(const TimeCurves::Rows& rows, std::int64_t hidden_size) {
  Neighbours neighbours;
  const auto wider = rows.lower_bound(hidden_size);
  if (wider != rows.end() && wider->first < 2 * hidden_size) neighbours.wider = &*wider;
  if (wider != rows.end() && wider->first == hidden_size) {
    neighbours.narrower = neighbours.wider;
  } else if (wider != rows.begin() && hidden_size < 2 * std::prev(wider)->first) {
    neighbours.narrower = &*std::prev(wider);
  }
  return neighbours;
}

double part_between(std::int64_t hidden_size, std::int64_t narrower, std::int64_t wider) {
  if (narrower == wider) return 0;
  const auto ratio = [](std::int64_t size, std::int64_t of) {
    return static_cast<double>(size) / static_cast<double>(of);
  };
  return std::log(ratio(hidden_size, narrower)) / std::log(ratio(wider, narrower));
}

std::optional<Timing> TimeCurves::at(const Cell& cell, Strategy strategy) const {
  const Rows* found = rows(cell.world_size, cell.data_type, cell.fusion);
  if (!found) return std::nullopt;
  const auto bytes = static_cast<double>(cell.size_bytes());
  const Neighbours neighbours = neighbours_of(*found, cell.hidden_size);
  const auto* narrower = neighbours.narrower;
  const auto* wider = neighbours.wider;
  std::array<std::optional<Timing>, 2> times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Curve* curve = curve_in(i == 0 ? narrower : wider, strategy);
    if (!curve) continue;
    if (has_failed_beside(*curve, bytes)) return std::nullopt;
    times[i] = time_at(*curve, bytes);
  }
  if (!narrower || !times[0]) return times[1];
  if (!wider || !times[1]) return times[0];
  return interpolated(*times[0], *times[1],
                      part_between(cell.hidden_size, narrower->first, wider->first));
}

}  // namespace assay::allreduce
