// Latencies in ms of one kernel and one combination of exact values, over the sizes that were
// measured.
//
// Between measured points the time above the roofline runs as each axis's curve says, one axis
// after the other; without a roofline the time itself does. Where rows have other values than their
// neighbours (holes, or points added where they were needed), the order of the axes whose brackets
// are the tightest counts. Of the methods tried on public tables
// (every second value held out) this has the smallest errors: kernels take a fixed time plus one in
// proportion to their size, which no logarithm improves on.
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
#include "store/files/columns.h"

namespace assay::store {

// The least ms that the sizes can take; 0: unknown.
using Roofline = std::function<double(std::span<const double> sizes)>;

struct SurfaceAxis {
  std::string column;
  Curve curve = Curve::kLine;
};

// How a size of an answer was met.
enum class Met : std::uint8_t { kMeasured, kBetween, kOverHole, kBelow, kAbove };

struct Estimate {
  double latency = 0;
  double roofline = 0;  // 0: unknown
  std::array<Met, kMostAxes> met = {};
  bool from_nearest = false;  // no bracket exists: a plane through the nearest points
  double beyond = 1;          // how many times past the measured range, 1 within
  // The ends of the bracket, or the two nearest points; the same point where it is exact.
  GridPoint low;
  GridPoint high;
  // Typical error of bracket points predicted from their neighbours without themselves, as a part
  // of the latency. Nothing: it was measured, or there are too few points to tell.
  std::optional<double> uncertainty = {};

  [[nodiscard]] bool is_exact() const;
};

// Refused beyond: see Surface::at().
inline constexpr double kMostBeyond = 4;
enum class Beyond : std::uint8_t { kRefuse, kExtrapolate };

class Surface {
 public:
  // Null: no roofline.
  Surface(std::vector<SurfaceAxis> axes, Grid grid, Roofline roofline);

  // `sizes` in the order of the axes. Microseconds, if the roofline is fast. Errors: more than
  // kMostBeyond times past the measured points; a size of which only one value was measured.
  [[nodiscard]] core::Result<Estimate> at(std::span<const double> sizes, Beyond beyond) const;

  // What a measured point would be taken for, were it not there, by its neighbours along the axis.
  // Nothing at the ends.
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
  // Of axes, the innermost last.
  using Order = std::vector<std::size_t>;

  // What a blend is for.
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

}  // namespace assay::store
