#include "store/judging/table_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/statistics.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

struct FindingKind {
  std::string_view name;
  Weight weight;
  std::string_view meaning;
  Found TableCheck::*found;
  bool has_worst;
};

constexpr FindingKind kFindingKinds[] = {
    {"faster than the roofline", Weight::kProblem,
     "a wrong row, or one whose data stayed in the cache", &TableCheck::faster, true},
    {"faster, from L2", Weight::kRemark, "excused: all data of the row fit in the L2 cache",
     &TableCheck::cached, true},
    {"far too slow", Weight::kProblem,
     "300 times its roofline and a launch, or 100 times both rows beside it: a wrong unit?",
     &TableCheck::slower, true},
    {"zero or negative", Weight::kProblem, "no latency", &TableCheck::not_positive, false},
    {"unusable rows", Weight::kProblem, "without a finite latency, or a size is missing",
     &TableCheck::unused, false},
    {"scattered", Weight::kProblem,
     "samples took less than half of their median; worst: how much less", &TableCheck::scattered,
     true},
    {"holes", Weight::kRemark, "missing points whose two neighbours along a size exist",
     &TableCheck::holes, false},
    {"duplicates", Weight::kRemark, "rows whose key an earlier row has; worst: how far apart",
     &TableCheck::duplicates, true},
    {"drops", Weight::kRemark, "a latency lower than that of the next smaller size",
     &TableCheck::drops, true},
    {"uncertain", Weight::kRemark,
     "samples scatter more than --certainty allows; worst: ± of the median", &TableCheck::uncertain,
     true},
    {"throttled", Weight::kRemark, "measured while the GPU had lowered its clocks",
     &TableCheck::throttled, false},
};

// Times in microseconds that are taken for milliseconds are 1000 times too long. Products of the
// shipped database take at least 0.47 of their roofline and this launch, and none of its rows more
// than 85 (copies over PCIe, whose roofline is the memory's; 80 a prompt's attention). No row takes
// 4 times as long as both rows beside it.
constexpr double kLaunchMs = 0.005;
constexpr double kFarAboveRoofline = 300;
constexpr double kFarAboveNeighbours = 100;

// Copies and collectives take what links take, which are not the roofline's.
bool is_of_gpu_alone(const std::string& table) {
  return table != "transfer_perf" && table != "nccl_perf" && table != "custom_allreduce_perf";
}

void note(Found& found, double how_much, const auto& where) {
  ++found.count;
  if (found.count > 1 && how_much <= found.worst) return;
  found.worst = how_much;
  found.where = where();
}

// "m=1 n=32 gemm_dtype=fp8"
std::string place(const TableIndex& index, const Group& group, const Position& position) {
  const Grid& grid = group.surface.grid();
  const auto sizes = grid.sizes_of(position);
  std::string text = group.surface.place(std::span(sizes.data(), grid.num_axes()));
  const std::string name = index.group_name(group);
  return name.empty() ? text : text.empty() ? name : text + " " + name;
}

// Returns for each point the latency of the slowest of the rows beside it, along the sizes of which
// it has a smaller and a larger one; 0 if there are none.
std::vector<double> slowest_beside(const Grid& grid) {
  const std::vector<GridPoint>& points = grid.points();
  std::vector<double> slowest(points.size());
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t axis = 0; axis < grid.num_axes(); ++axis) {
    const auto line_of = [&](std::size_t point) {
      Position position = points[point].position;
      position[axis] = 0;
      return position;
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(line_of(a), points[a].position[axis]) <
             std::pair(line_of(b), points[b].position[axis]);
    });
    for (std::size_t i = 1; i + 1 < order.size(); ++i) {
      const std::size_t low = order[i - 1];
      const std::size_t high = order[i + 1];
      if (line_of(low) != line_of(high)) continue;
      double& of_point = slowest[order[i]];
      of_point = std::max({of_point, points[low].latency, points[high].latency});
    }
  }
  return slowest;
}

class Checker {
 public:
  Checker(const TableIndex& index, const CheckLimits& limits, TableCheck& result)
      : index_(index), limits_(limits), result_(result) {}

  // `cached` may be null.
  void check_group(const Group& group, const Roofline& cached) {
    const Grid& grid = group.surface.grid();
    holes_.clear();
    const std::vector<double> beside = slowest_beside(grid);
    for (std::size_t i = 0; i < grid.points().size(); ++i) {
      const GridPoint& point = grid.points()[i];
      check_latency(group, cached, point, beside[i]);
      for (std::size_t axis = 0; axis < grid.num_axes(); ++axis)
        check_step(group, point, axis);
    }
    result_.holes.count += static_cast<std::int64_t>(holes_.size());
    result_.holes.total += static_cast<std::int64_t>(grid.points().size() + holes_.size());
  }

 private:
  void check_latency(const Group& group,
                     const Roofline& cached,
                     const GridPoint& point,
                     double beside) {
    const Grid& grid = group.surface.grid();
    if (point.latency <= 0) {
      note(result_.not_positive, -point.latency,
           [&] { return place(index_, group, point.position); });
      return;
    }
    const auto all_sizes = grid.sizes_of(point.position);
    const auto sizes = std::span(all_sizes.data(), grid.num_axes());
    const double roof = group.surface.roofline(sizes);
    if (!holds_differences(index_.table())) check_slow(group, point, roof, beside);
    if (roof <= 0) return;
    ++result_.faster.total;
    const double faster = 1 - point.latency / roof;
    if (faster <= limits_.roofline) return;
    const bool excused = cached && point.latency >= cached(sizes) * (1 - limits_.roofline);
    note(excused ? result_.cached : result_.faster, faster,
         [&] { return place(index_, group, point.position); });
  }

  // `roof` is 0 where it is unknown, `beside` where there are no two rows.
  void check_slow(const Group& group, const GridPoint& point, double roof, double beside) {
    ++result_.slower.total;
    const double least = roof > 0 && is_of_gpu_alone(index_.table()) ? roof + kLaunchMs : 0;
    const bool is_far = (least > 0 && point.latency > kFarAboveRoofline * least) ||
                        (beside > 0 && point.latency > kFarAboveNeighbours * beside);
    if (!is_far) return;
    const double usual = least > 0 ? least : beside;
    note(result_.slower, point.latency / usual,
         [&] { return place(index_, group, point.position); });
  }

  // Compares a point with the next larger value of a size.
  void check_step(const Group& group, const GridPoint& point, std::size_t axis) {
    const Grid& grid = group.surface.grid();
    Position next = point.position;
    if (!find_along(grid, next, axis, 1, 2)) return;
    if (next[axis] == point.position[axis] + 2) add_hole(group, point.position, axis);
    ++result_.drops.total;
    if (point.latency <= 0) return;
    const double drop = 1 - *grid.find(next) / point.latency;
    if (drop <= limits_.drop) return;
    note(result_.drops, drop, [&] {
      return place(index_, group, point.position) + fmt::format(", then {}={}",
                                                                group.surface.axes()[axis].column,
                                                                grid.values(axis)[next[axis]]);
    });
  }

  void add_hole(const Group& group, Position position, std::size_t axis) {
    ++position[axis];
    if (!holes_.insert(position).second) return;
    if (result_.holes.where.empty()) result_.holes.where = place(index_, group, position);
  }

  const TableIndex& index_;
  const CheckLimits& limits_;
  TableCheck& result_;
  std::set<Position> holes_;
};

// Compares the rows of one group that have equal sizes.
void check_duplicates(const GroupedRows& rows,
                      const std::vector<std::uint32_t>& group,
                      const CheckLimits& limits,
                      TableCheck& result) {
  const std::size_t count = rows.sizes.size();
  const auto sizes_of = [&](std::uint32_t row) {
    return std::span(rows.size_values).subspan(row * count, count);
  };
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const auto left = sizes_of(a);
    const auto right = sizes_of(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  };
  std::vector<std::uint32_t> sorted = group;
  std::stable_sort(sorted.begin(), sorted.end(), before);
  std::size_t first = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (before(sorted[first], sorted[i])) {
      first = i;
      continue;
    }
    const double low = std::min(rows.latencies[sorted[first]], rows.latencies[sorted[i]]);
    const double high = std::max(rows.latencies[sorted[first]], rows.latencies[sorted[i]]);
    const double apart = low > 0 ? high / low - 1 : high > low ? 1e9 : 0;
    if (apart > limits.spread) ++result.far_apart;
    note(result.duplicates, apart,
         [&] { return fmt::format("rows {} and {}", sorted[first] + 1, sorted[i] + 1); });
  }
}

std::string place_of_row(const TableIndex& index,
                         const GroupedRows& rows,
                         std::size_t group,
                         std::uint32_t row) {
  const std::size_t count = rows.sizes.size();
  const Group& of = index.groups()[group];
  std::string text = of.surface.place(std::span(rows.size_values).subspan(row * count, count));
  const std::string name = index.group_name(of);
  return name.empty() ? text : text.empty() ? name : text + " " + name;
}

// The columns are those of Store::Columns::kWithInterval; a file has none of them.
void check_certainty(const TableIndex& index,
                     const GroupedRows& rows,
                     const Frame& frame,
                     TableCheck& result) {
  const FrameColumn* reached = frame.find("certainty_reached");
  const FrameColumn* asked = frame.find("certainty_asked");
  if (reached == nullptr || asked == nullptr) return;
  for (std::size_t group = 0; group < rows.rows_of_group.size(); ++group) {
    for (const std::uint32_t row : rows.rows_of_group[group]) {
      const double part = number_at(*reached, row);
      const double goal = number_at(*asked, row);
      if (!std::isfinite(part) || !std::isfinite(goal)) continue;
      ++result.uncertain.total;
      if (part <= goal) continue;
      note(result.uncertain, part, [&] { return place_of_row(index, rows, group, row); });
    }
  }
}

// Samples that take long leave a median right; ones far below it say that it is no kernel's time.
void check_medians(const TableIndex& index,
                   const GroupedRows& rows,
                   const Frame& frame,
                   TableCheck& result) {
  constexpr double kMost = 0.5;
  const FrameColumn* lows = frame.find("interval_low_ms");
  const FrameColumn* latencies = frame.find("latency");
  if (lows == nullptr || latencies == nullptr) return;
  for (std::size_t group = 0; group < rows.rows_of_group.size(); ++group) {
    for (const std::uint32_t row : rows.rows_of_group[group]) {
      const double below = 1 - number_at(*lows, row) / number_at(*latencies, row);
      if (!std::isfinite(below)) continue;
      ++result.scattered.total;
      if (below > kMost)
        note(result.scattered, below, [&] { return place_of_row(index, rows, group, row); });
    }
  }
}

void check_clocks(const TableIndex& index,
                  const GroupedRows& rows,
                  const Frame& frame,
                  TableCheck& result) {
  const FrameColumn* throttled = frame.find("throttled");
  for (std::size_t group = 0; throttled != nullptr && group < rows.rows_of_group.size(); ++group) {
    for (const std::uint32_t row : rows.rows_of_group[group]) {
      if (throttled->is_missing(row)) continue;
      ++result.throttled.total;
      if (number_at(*throttled, row) != 0)
        note(result.throttled, 0, [&] { return place_of_row(index, rows, group, row); });
    }
  }
}

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

std::vector<Finding> findings_of(const TableCheck& check) {
  std::vector<Finding> findings;
  for (const FindingKind& kind : kFindingKinds) {
    const Found& found = check.*kind.found;
    if (found.count == 0) continue;
    const bool is_allowed = kind.found == &TableCheck::not_positive && check.zeros_allowed;
    findings.push_back({.name = kind.name,
                        .meaning = kind.meaning,
                        .weight = is_allowed ? Weight::kRemark : kind.weight,
                        .found = found,
                        .has_worst = kind.has_worst});
  }
  return findings;
}

core::Result<TableCheck> check_table(const std::string& table,
                                     const Frame& frame,
                                     const Rooflines& rooflines,
                                     const CheckLimits& limits) {
  const GroupedRows rows = ASSAY_TRY(group_rows(table, frame));
  const TableIndex index = ASSAY_TRY(TableIndex::make(table, frame, rooflines.all));
  TableCheck result;
  result.table = table;
  result.rows = static_cast<std::int64_t>(frame.num_rows());
  result.groups = static_cast<std::int64_t>(index.groups().size());
  result.zeros_allowed = holds_differences(table);
  result.unused = {.count = rows.unused.count, .total = result.rows, .worst = 0, .where = {}};
  if (rows.unused.count > 0) result.unused.where = fmt::format("row {}", rows.unused.first_row + 1);
  result.duplicates.total = result.rows;
  for (const auto& group : rows.rows_of_group)
    check_duplicates(rows, group, limits, result);
  Checker checker(index, limits, result);
  for (std::size_t group = 0; group < index.groups().size(); ++group)
    checker.check_group(index.groups()[group], group_roofline(rooflines.cached, rows, group));
  check_certainty(index, rows, frame, result);
  check_medians(index, rows, frame, result);
  check_clocks(index, rows, frame, result);
  result.not_positive.total = result.rows;
  result.cached.total = result.faster.total;
  return result;
}

std::vector<HeldOutPoint> held_out_points(const TableIndex& index, std::size_t axis) {
  std::vector<HeldOutPoint> points;
  for (std::size_t group = 0; group < index.groups().size(); ++group) {
    const GridSurface& surface = index.groups()[group].surface;
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
    for (const auto& [ends, of_interval] : errors.by_interval) {
      const std::int64_t beyond = count_beyond(of_interval, limit);
      if (beyond == 0) continue;
      result.intervals.push_back({.column = column,
                                  .low = std::get<0>(ends),
                                  .held_out = std::get<1>(ends),
                                  .high = std::get<2>(ends),
                                  .points = static_cast<std::int64_t>(of_interval.size()),
                                  .beyond = beyond,
                                  .median = core::median(of_interval)});
    }
  }
  std::stable_sort(result.intervals.begin(), result.intervals.end(),
                   [](const Interval& a, const Interval& b) { return a.beyond > b.beyond; });
  return result;
}

}  // namespace assay::store
