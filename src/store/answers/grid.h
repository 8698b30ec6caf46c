// Measured points over one to six sizes, a grid that may have holes; and values between points
// along one size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
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
  // `sizes` holds num_axes values for each point, point after point. Of several points at one place
  // the first counts, as it does for the public consumer.
  Grid(std::size_t num_axes, std::span<const double> sizes, std::span<const double> latencies);

  [[nodiscard]] std::size_t num_axes() const { return axes_.size(); }

  // The measured values of an axis, ascending.
  [[nodiscard]] const std::vector<double>& values(std::size_t axis) const { return axes_[axis]; }

  // The latency at a position; null for a hole.
  [[nodiscard]] const double* find(const Position& position) const;

  // Which of the latencies that the grid was made of stands at a position that is no hole.
  [[nodiscard]] std::size_t row_at(const Position& position) const;

  [[nodiscard]] const std::vector<GridPoint>& points() const { return points_; }

  [[nodiscard]] std::array<double, kMostAxes> sizes_of(const Position& position) const;

 private:
  [[nodiscard]] std::uint64_t number_of(const Position& position) const;

  std::vector<std::vector<double>> axes_;
  std::vector<GridPoint> points_;
  std::vector<std::uint32_t> rows_;  // by point
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;
};

// Moves `position` to the nearest other point along `axis`, in the direction of `step` (-1 or 1)
// and at most `reach` values away. False if there is none.
bool find_along(const Grid& grid, Position& position, std::size_t axis, int step, int reach);

// The shape of the latency between two values of a size: a straight line, or a cubic without
// overshoot if latencies grow faster than the size (attention over its sequence).
enum class Curve : std::uint8_t { kLine, kCubic };

// The curve along a column of any table.
Curve curve_of(std::string_view column);

// The bracket (points 1 and 2) and, where they exist, the points outside of it (0 and 3).
struct Along {
  std::array<double, 4> x = {};
  std::array<double, 4> y = {};
  bool has_before = false;
  bool has_after = false;
};

// The value at `x`, which lies within the bracket. kCubic is the method of F. N. Fritsch and
// J. Butland, "A method for constructing local monotone piecewise cubic interpolants", 1984;
// without a point outside the bracket it is a straight line.
double value_along(const Along& along, Curve curve, double x);

}  // namespace assay::store
