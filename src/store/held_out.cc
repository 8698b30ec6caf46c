#include "store/held_out.h"

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
  double worst = -1;
  std::string worst_at;
};

Ends ends_of(const Grid& grid, const Position& position, std::size_t axis) {
  const auto& values = grid.values(axis);
  Position low = position;
  Position high = position;
  const int any = static_cast<int>(values.size());
  find_along(grid, low, axis, -1, any);
  find_along(grid, high, axis, 1, any);
  return {values[low[axis]], values[position[axis]], values[high[axis]]};
}

void collect(const TableIndex& index, const Group& group, std::size_t axis, Errors& errors) {
  const Grid& grid = group.surface.grid();
  for (const GridPoint& point : grid.points()) {
    if (point.latency <= 0) continue;
    const auto predicted = group.surface.held_out(point.position, axis);
    if (!predicted) continue;
    const double error = std::abs(*predicted / point.latency - 1);
    errors.all.push_back(error);
    errors.by_interval[ends_of(grid, point.position, axis)].push_back(error);
    if (error <= errors.worst) continue;
    const auto sizes = grid.sizes_of(point.position);
    errors.worst = error;
    errors.worst_at = group.surface.place(std::span(sizes.data(), grid.num_axes()));
    if (const std::string name = index.group_name(group); !name.empty())
      errors.worst_at += " " + name;
  }
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

HeldOut held_out_errors(const TableIndex& index, double limit) {
  HeldOut result;
  for (std::size_t axis = 0; axis < index.size_columns().size(); ++axis) {
    const std::string& column = index.size_columns()[axis];
    Errors errors;
    for (const Group& group : index.groups())
      collect(index, group, axis, errors);
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
