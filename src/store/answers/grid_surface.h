// Latencies in ms of one kernel and one combination of exact values, over a grid of the sizes that
// were measured: what checks look at, and refining. Queries have families (family.h), which also
// know what lies beside a combination.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/answers/grid.h"
#include "store/files/table_spec.h"

namespace assay::store {

// The least time in ms that the sizes can take; 0 if it is unknown.
using Roofline = std::function<double(std::span<const double> sizes)>;

struct SurfaceAxis {
  std::string column;
  Curve curve = Curve::kLine;
};

class GridSurface {
 public:
  // `roofline` may be null.
  GridSurface(std::vector<SurfaceAxis> axes, Grid grid, Roofline roofline);

  // Predicts a measured point from its neighbours along the axis, as if it were not there: the time
  // above the roofline follows the axis's curve. std::nullopt at the ends.
  [[nodiscard]] std::optional<double> held_out(const Position& position, std::size_t axis) const;

  // "m=256 n=4096"
  [[nodiscard]] std::string place(std::span<const double> sizes) const;

  [[nodiscard]] const std::vector<SurfaceAxis>& axes() const { return axes_; }

  [[nodiscard]] const Grid& grid() const { return grid_; }

  [[nodiscard]] double roofline(std::span<const double> sizes) const {
    return roofline_ ? roofline_(sizes) : 0;
  }

 private:
  [[nodiscard]] double excess(const Position& position, double latency) const;
  [[nodiscard]] bool find_end(Position& position, std::size_t axis, int step) const;

  std::vector<SurfaceAxis> axes_;
  Grid grid_;
  Roofline roofline_;
};

}  // namespace assay::store
