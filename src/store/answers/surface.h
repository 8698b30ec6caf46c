// Latencies in ms of one kernel and one combination of exact values, over the sizes that were
// measured.
//
// Between measured points the time above the roofline follows each axis's curve, one axis after the
// other; without a roofline the time itself does. Where rows have other values than their
// neighbours (holes, or points that were added where they were needed), that order of the axes is
// taken whose brackets are the tightest. Of the methods that were tried on public tables (with
// every second value held out) this one has the smallest errors: kernels take a fixed time plus one
// in proportion to their size, which no logarithm improves on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/answers/grid.h"
#include "store/files/table_spec.h"

namespace assay::store {

// The least time in ms that the sizes can take; 0 if it is unknown.
using Roofline = std::function<double(std::span<const double> sizes)>;

struct SurfaceAxis {
  std::string column;
  Curve curve = Curve::kLine;
};

// The position of a requested size among the measured values: at one of them, between two
// neighbours, between two that have a hole between them, or beyond either end.
enum class Met : std::uint8_t { kMeasured, kBetween, kOverHole, kBelow, kAbove };

struct Estimate {
  double latency = 0;
  double roofline = 0;  // 0 if it is unknown
  std::array<Met, kMostAxes> met = {};
  bool from_nearest = false;  // no bracket exists, so a plane through the nearest points answers
  double beyond = 1;          // how many times past the measured range; 1 within it
  // The ends of the bracket, or the two nearest points; twice the same point where it is exact.
  GridPoint low;
  GridPoint high;
  // The typical error of predicting the bracket's points from their neighbours without themselves,
  // as a part of the latency. std::nullopt: it was measured, or there are too few points to tell.
  std::optional<double> uncertainty = {};

  [[nodiscard]] bool is_exact() const;
};

// Surface::at() with kRefuse gives no answer for more than this many times past the measured range.
inline constexpr double kMostBeyond = 4;
enum class Beyond : std::uint8_t { kRefuse, kExtrapolate };

class Surface {
 public:
  // `roofline` may be null.
  Surface(std::vector<SurfaceAxis> axes, Grid grid, Roofline roofline);

  // Answers for `sizes`, which are in the order of the axes; takes microseconds if the roofline is
  // fast. Errors: a size lies more than kMostBeyond times past the measured points, or only one
  // value of it was measured.
  [[nodiscard]] core::Result<Estimate> at(std::span<const double> sizes, Beyond beyond) const;

  // Predicts a measured point from its neighbours along the axis, as if it were not there;
  // std::nullopt at the ends.
  [[nodiscard]] std::optional<double> held_out(const Position& position, std::size_t axis) const;

  // "linear in m, k", "exact", "nearest points (hole at m=3, n=5)".
  [[nodiscard]] std::string method(const Estimate& estimate, std::span<const double> sizes) const;

  // "m=256 n=4096"
  [[nodiscard]] std::string place(std::span<const double> sizes) const;

  [[nodiscard]] const std::vector<SurfaceAxis>& axes() const { return axes_; }

  [[nodiscard]] const Grid& grid() const { return grid_; }

  [[nodiscard]] double roofline(std::span<const double> sizes) const {
    return roofline_ ? roofline_(sizes) : 0;
  }

 private:
  struct Blend;
  struct Neighbour;
  // The axes, the innermost last.
  using Order = std::vector<std::size_t>;

  // The sizes that a blend is made for, and the order of the axes.
  struct Asked {
    std::span<const double> sizes;
    const Order& order;
  };

  [[nodiscard]] double excess(const Position& position, double latency) const;
  [[nodiscard]] std::optional<Blend> tightest(std::span<const double> sizes) const;
  [[nodiscard]] std::optional<Blend> blend(const Asked& asked,
                                           std::size_t level,
                                           Position& position) const;
  [[nodiscard]] std::optional<Blend> blend_between(const Asked& asked,
                                                   std::size_t level,
                                                   Position& position,
                                                   std::int64_t below,
                                                   std::int64_t above) const;
  [[nodiscard]] std::optional<Blend> blend_at(const Asked& asked,
                                              std::size_t level,
                                              Position& position,
                                              std::int64_t index) const;
  [[nodiscard]] std::optional<Neighbour> neighbour(
      const Asked& asked, std::size_t level, Position& position, std::int64_t from, int step) const;
  [[nodiscard]] bool find_end(Position& position, std::size_t axis, int step) const;
  [[nodiscard]] core::Status check_range(std::span<const double> sizes,
                                         Beyond beyond,
                                         Estimate& estimate) const;
  void estimate_within(std::span<const double> sizes, Estimate& estimate) const;
  void estimate_nearest(std::span<const double> sizes, Estimate& estimate) const;
  [[nodiscard]] double growth_past_end(std::span<const double> inside,
                                       std::size_t axis,
                                       double size,
                                       double latency) const;
  [[nodiscard]] std::optional<double> uncertainty(const Estimate& estimate) const;

  std::vector<SurfaceAxis> axes_;
  Grid grid_;
  Roofline roofline_;
  Order order_;  // the axis with most values is innermost
};

struct Nearest {
  double latency = 0;
  GridPoint first;  // the two nearest points
  GridPoint second;
  double factor = 1;  // how many times away the nearest point is along its furthest axis
};

// Answers for a place without a bracket by a plane through the nearest measured points: it fits the
// logarithm of the time (of the time over the roofline, where that is known) over the logarithms of
// the sizes, with points weighed by the inverse square of their distance. It looks at all points of
// the surface, which must have some.
Nearest nearest_plane(const Surface& surface, std::span<const double> sizes);

}  // namespace assay::store
