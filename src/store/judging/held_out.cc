#include "store/judging/held_out.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/statistics.h"

namespace assay::store {
namespace {

using Ends = std::tuple<double, double, double>;  // low, held out, high

struct Errors {
  std::vector<double> all;
  std::map<Ends, std::vector<double>> by_interval;
  double worst = 0;
  std::string worst_at;
};

HeldOutPoint point_at(const Grid& grid, const Position& position, std::size_t axis) {
  const auto& values = grid.values(axis);
  Position low = position;
  Position high = position;
  const int any = static_cast<int>(values.size());
  find_along(grid, low, axis, -1, any);
  find_along(grid, high, axis, 1, any);
  return {.position = position,
          .axis = axis,
          .low = values[low[axis]],
          .size = values[position[axis]],
          .high = values[high[axis]]};
}

std::string place_of(const TableIndex& index, const HeldOutPoint& point) {
  const Group& group = index.groups()[point.group];
  const auto sizes = group.surface.grid().sizes_of(point.position);
  const std::string place =
      group.surface.place(std::span(sizes.data(), group.surface.grid().num_axes()));
  const std::string name = index.group_name(group);
  return name.empty() ? place : place + " " + name;
}

Errors errors_along(const TableIndex& index, std::size_t axis) {
  Errors errors;
  const HeldOutPoint* worst = nullptr;
  const std::vector<HeldOutPoint> points = held_out_points(index, axis);
  for (const HeldOutPoint& point : points) {
    errors.all.push_back(point.error);
    errors.by_interval[{point.low, point.size, point.high}].push_back(point.error);
    if (worst == nullptr || point.error > worst->error) worst = &point;
  }
  if (worst == nullptr) return errors;
  errors.worst = worst->error;
  errors.worst_at = place_of(index, *worst);
  return errors;
}

std::int64_t count_beyond(const std::vector<double>& errors, double limit) {
  return std::count_if(errors.begin(), errors.end(), [&](double e) { return e > limit; });
}

HeldOutErrors summary_of(const std::string& column, const Errors& errors, double limit) {
  const auto points = static_cast<std::int64_t>(errors.all.size());
  return {.column = column,
          .points = points,
          .median = core::median(errors.all),
          .p95 = core::quantile(errors.all, 0.95),
          .worst = errors.worst,
          .share_beyond =
              static_cast<double>(count_beyond(errors.all, limit)) / static_cast<double>(points),
          .worst_at = errors.worst_at};
}

}  // namespace

std::vector<HeldOutPoint> held_out_points(const TableIndex& index, std::size_t axis) {
  std::vector<HeldOutPoint> points;
  for (std::size_t group = 0; group < index.groups().size(); ++group) {
    const Surface& surface = index.groups()[group].surface;
    for (const GridPoint& measured : surface.grid().points()) {
      if (measured.latency <= 0) continue;
      const auto predicted = surface.held_out(measured.position, axis);
      if (!predicted) continue;
      points.push_back(point_at(surface.grid(), measured.position, axis));
      points.back().group = group;
      points.back().error = std::abs(*predicted / measured.latency - 1);
    }
  }
  return points;
}

HeldOut held_out_errors(const TableIndex& index, double limit) {
  HeldOut result;
  for (std::size_t axis = 0; axis < index.size_columns().size(); ++axis) {
    const std::string& column = index.size_columns()[axis];
    const Errors errors = errors_along(index, axis);
    if (errors.all.empty()) continue;
    result.by_column.push_back(summary_of(column, errors, limit));
    for (const auto& [ends, some] : errors.by_interval) {
      const std::int64_t beyond = count_beyond(some, limit);
      if (beyond == 0) continue;
      result.intervals.push_back({.column = column,
                                  .low = std::get<0>(ends),
                                  .held_out = std::get<1>(ends),
                                  .high = std::get<2>(ends),
                                  .points = static_cast<std::int64_t>(some.size()),
                                  .beyond = beyond,
                                  .median = core::median(some)});
    }
  }
  std::stable_sort(result.intervals.begin(), result.intervals.end(),
                   [](const Interval& a, const Interval& b) { return a.beyond > b.beyond; });
  return result;
}

}  // namespace assay::store
