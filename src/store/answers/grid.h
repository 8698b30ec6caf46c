// Measured points over one to six sizes: a grid that may have holes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace assay::store {

inline constexpr std::size_t kMostAxes = 6;

// A point by its indices in the values of each axis; 0 past the last axis.
using Position = std::array<std::uint32_t, kMostAxes>;

struct GridPoint {
  Position position = {};
  double latency = 0;
};

class Grid {
 public:
  // `sizes` holds num_axes values a point, point after point. The first of several points at one
  // place counts, as it does for the public consumer.
  Grid(std::size_t num_axes, std::span<const double> sizes, std::span<const double> latencies);

  [[nodiscard]] std::size_t num_axes() const { return axes_.size(); }

  // Measured values of an axis, ascending.
  [[nodiscard]] const std::vector<double>& values(std::size_t axis) const { return axes_[axis]; }

  // Null: a hole.
  [[nodiscard]] const double* find(const Position& position) const;

  [[nodiscard]] const std::vector<GridPoint>& points() const { return points_; }

  [[nodiscard]] std::array<double, kMostAxes> sizes_of(const Position& position) const;

 private:
  [[nodiscard]] std::uint64_t number_of(const Position& position) const;

  std::vector<std::vector<double>> axes_;
  std::vector<GridPoint> points_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;
};

// The place of the nearest point from `position` along `axis`, `position` left out, in the
// direction of `step` (-1 or 1) and at most `reach` values away.
bool find_along(const Grid& grid, Position& position, std::size_t axis, int step, int reach);

}  // namespace assay::store
