// What points say of a system: its best rate, and the time that even the smallest work takes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "store/systems/system_points.h"

namespace assay::store {

struct Rate {
  double per_second = 0;
  Point best;             // the point that reached it
  std::size_t count = 0;  // points that were looked at
};

// Of points of at least this amount. Nothing: there are none.
std::optional<Rate> best_rate(std::span<const Point> points, double least_amount);

struct Latency {
  double seconds = 0;
  std::size_t count = 0;
  double deviation = 0;  // of a point from the line, median, as a share of the intercept
};

// Intercept of the least-squares line of time over amount, of points of at most this amount.
// Nothing: fewer than three points, all of one amount, or no intercept above 0.
std::optional<Latency> constant_latency(std::span<const Point> points, double most_amount);

// Median of points that move nothing.
std::optional<Latency> median_latency(std::span<const Point> points);

}  // namespace assay::store
