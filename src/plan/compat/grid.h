// Times over a grid of sizes, answered by the public planner's rules: what was measured as it is,
// straight lines between, and beyond the grid the share of the roofline that its nearest rows
// reach.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace assay::plan::compat {

inline constexpr std::size_t kMostAxes = 3;
inline constexpr std::size_t kNoAxis = kMostAxes;

// A value of each axis; 0 beyond the grid's axes.
using Place = std::array<double, kMostAxes>;

// The roofline at a place, in ms.
using LeastMs = std::function<double(const Place& place)>;

class Grid {
 public:
  // Along `sqrt_axis` square roots of times are blended, because a prompt's attention grows with
  // the square of its tokens.
  explicit Grid(std::size_t axes, std::size_t sqrt_axis = kNoAxis);

  // Of several times at one place the first counts.
  void add(const Place& place, double ms);
  // Is called once, when all rows are there.
  void finish();

  [[nodiscard]] bool empty() const { return points_.empty(); }

  // NaN where neither rows nor their rooflines tell it.
  [[nodiscard]] double at(const Place& place, const LeastMs& least_ms) const;

  [[nodiscard]] double low(std::size_t axis) const;
  [[nodiscard]] double high(std::size_t axis) const;

 private:
  struct Point {
    Place place;
    Place logs;
    double ms = 0;
  };

  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  // The points of the range whose place on the axis is `value`.
  [[nodiscard]] Range equal(Range range, std::size_t axis, double value) const;
  // std::nullopt: the place is beyond the rows.
  [[nodiscard]] std::optional<double> within(Range range,
                                             std::size_t axis,
                                             const Place& place,
                                             const LeastMs& least_ms) const;
  [[nodiscard]] double blend(std::size_t axis, double low, double high, double share) const;
  [[nodiscard]] double beyond_one_axis(const Place& place, const LeastMs& least_ms) const;
  [[nodiscard]] double beyond(const Place& place, const LeastMs& least_ms) const;

  std::size_t axes_;
  std::size_t sqrt_axis_;
  std::vector<Point> points_;  // by their place, axis by axis
};

}  // namespace assay::plan::compat
