#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "allreduce/plot/drawings.h"
#include "core/statistics.h"

namespace assay::allreduce {
namespace {

report::CurvePoint point_of(std::int64_t size_bytes, const std::vector<const Measurement*>& same) {
  std::vector<double> times;
  report::CurvePoint point{.x = static_cast<double>(size_bytes), .low = kUnknown, .high = kUnknown};
  for (const Measurement* one : same) {
    times.push_back(one->time_us);
    // Without an interval, only the time itself is known.
    point.low = std::fmin(point.low, std::isnan(one->low_us) ? one->time_us : one->low_us);
    point.high = std::fmax(point.high, std::isnan(one->high_us) ? one->time_us : one->high_us);
  }
  point.y = core::median(times);
  return point;
}

report::Curve curve_of(const Grid& grid, Strategy strategy) {
  std::map<std::int64_t, std::vector<const Measurement*>> sizes;
  for (const Measurement& one : grid.measurements) {
    if (one.strategy == strategy && one.outcome == Outcome::kOk && one.time_us > 0) {
      sizes[one.cell.size_bytes()].push_back(&one);
    }
  }
  report::Curve curve{
      .name = std::string(name_of(strategy)), .color = color_of(strategy), .points = {}};
  for (const auto& [size_bytes, same] : sizes)
    curve.points.push_back(point_of(size_bytes, same));
  return curve;
}

bool has_intervals(const Grid& grid) {
  return std::any_of(grid.measurements.begin(), grid.measurements.end(),
                     [](const Measurement& one) { return !std::isnan(one.low_us); });
}

// Puts ticks at powers of two, about ten at most.
report::Axis size_axis(double low, double high) {
  report::Axis axis{
      .title = "message size (bytes)", .low = low / 1.25, .high = high * 1.25, .ticks = {}};
  const auto first = static_cast<int>(std::floor(std::log2(low)));
  const auto last = static_cast<int>(std::ceil(std::log2(high)));
  const int step = std::max(1, (last - first + 9) / 10);
  for (int power = first; power <= last; power += step)
    axis.ticks.push_back({std::exp2(power), size_text(std::exp2(power))});
  return axis;
}

report::Axis time_axis(double low, double high) {
  // Leaves room at the top for the key.
  report::Axis axis{.title = "time (μs)", .low = low / 2, .high = high * 2.5, .ticks = {}};
  for (const double tick : report::logarithmic_ticks(axis.low, axis.high))
    axis.ticks.push_back({tick, fmt::format("{:.4g}", tick)});
  return axis;
}

report::Curve limit_curve(const Grid& grid,
                          const report::Axis& sizes,
                          Strategy strategy,
                          double bytes_per_us,
                          bool is_usable) {
  report::Curve curve{.name = {},
                      .color = report::color_of(is_usable ? 0x777777 : 0x000000),
                      .look = report::Curve::Look::kLimit,
                      .points = {}};
  for (const double size : {sizes.low, sizes.high}) {
    const double time_us = sending_us(strategy, grid.world_size, size, bytes_per_us);
    curve.points.push_back({.x = size, .y = time_us, .low = kUnknown, .high = kUnknown});
  }
  return curve;
}

void add_limits(report::CurveFigure& figure, const Grid& grid, double rate, bool is_usable) {
  const std::string speed =
      fmt::format("{:.0f} GB/s{}", rate / kBytesPerUsOfGbps, is_usable ? " usable" : "");
  report::Curve oneshot = limit_curve(grid, figure.x, Strategy::kOneshot, rate, is_usable);
  // With two GPUs, one-shot and two-shot send the same amount.
  oneshot.name = (grid.world_size == 2 ? "link limit, " : "one-shot link limit, ") + speed;
  figure.curves.push_back(std::move(oneshot));
  if (grid.world_size == 2) return;
  report::Curve twoshot = limit_curve(grid, figure.x, Strategy::kTwoshot, rate, is_usable);
  twoshot.name = "two-shot link limit, " + speed;
  figure.curves.push_back(std::move(twoshot));
}

void add_limits(report::CurveFigure& figure, const Grid& grid) {
  const double rate = link_bytes_per_us(grid.sm_version);
  if (rate > 0) add_limits(figure, grid, rate, false);
  const std::optional<UsableRate> usable = usable_rate(grid.world_size, grid.sm_version);
  if (usable) add_limits(figure, grid, usable->bytes_per_us, true);
}

}  // namespace

report::CurveFigure latency_figure(const Grid& grid) {
  report::CurveFigure figure;
  figure.title = fmt::format("AllReduce Latency (Fusion: {})", name_of(grid.fusion));
  figure.subtitle =
      fmt::format("{}; median of the shapes of a size, band: their lowest to highest {}",
                  grid.subject(), has_intervals(grid) ? "end of an interval" : "time");
  std::array<double, 4> ends = {INFINITY, 0, INFINITY, 0};
  for (const Strategy strategy : grid.strategies) {
    report::Curve curve = curve_of(grid, strategy);
    if (curve.points.empty()) continue;
    for (const report::CurvePoint& point : curve.points)
      ends = {std::min(ends[0], point.x), std::max(ends[1], point.x), std::min(ends[2], point.low),
              std::max(ends[3], point.high)};
    figure.curves.push_back(std::move(curve));
  }
  figure.x = size_axis(ends[0], ends[1]);
  figure.y = time_axis(ends[2], ends[3]);
  add_limits(figure, grid);
  return figure;
}

std::string size_text(double size_bytes) {
  constexpr std::array<const char*, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (size_bytes >= 1024 && unit + 1 < kUnits.size()) {
    size_bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:g} {}", size_bytes, kUnits.at(unit));
}

}  // namespace assay::allreduce
