#include "store/answers/grid_surface.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/text.h"

namespace assay::store {
namespace {

// A size and an end of its bracket may differ by this factor.
constexpr double kMostApart = 64;

// The distance of two sizes as a logarithm. A size may be 0: that of a cache.
double apart(double a, double b) {
  return std::abs(std::log((1 + a) / (1 + b)));
}

}  // namespace

GridSurface::GridSurface(std::vector<SurfaceAxis> axes, Grid grid, Roofline roofline)
    : axes_(std::move(axes)), grid_(std::move(grid)), roofline_(std::move(roofline)) {
  ASSAY_CHECK(axes_.size() == grid_.num_axes(), "a surface's axes are not its grid's");
}

double GridSurface::excess(const Position& position, double latency) const {
  if (!roofline_) return latency;
  const auto sizes = grid_.sizes_of(position);
  return latency - roofline_(std::span(sizes.data(), axes_.size()));
}

// Moves `position` to the next point of its row, unless that is too far away.
bool GridSurface::find_end(Position& position, std::size_t axis, int step) const {
  const auto& values = grid_.values(axis);
  const double size = values[position[axis]];
  return find_along(grid_, position, axis, step, static_cast<int>(values.size())) &&
         apart(values[position[axis]], size) <= std::log(kMostApart);
}

std::optional<double> GridSurface::held_out(const Position& position, std::size_t axis) const {
  Position low = position;
  Position high = position;
  if (!find_end(low, axis, -1) || !find_end(high, axis, 1)) return std::nullopt;
  const auto& values = grid_.values(axis);
  Along along;
  along.x = {0, values[low[axis]], values[high[axis]], 0};
  along.y = {0, excess(low, *grid_.find(low)), excess(high, *grid_.find(high)), 0};
  if (axes_[axis].curve == Curve::kCubic) {
    Position before = low;
    Position after = high;
    along.has_before = find_along(grid_, before, axis, -1, 1);
    along.has_after = find_along(grid_, after, axis, 1, 1);
    if (along.has_before) along.x[0] = values[before[axis]];
    if (along.has_before) along.y[0] = excess(before, *grid_.find(before));
    if (along.has_after) along.x[3] = values[after[axis]];
    if (along.has_after) along.y[3] = excess(after, *grid_.find(after));
  }
  const double size = values[position[axis]];
  const auto sizes = grid_.sizes_of(position);
  const double roof = roofline(std::span(sizes.data(), axes_.size()));
  const double between = roof + value_along(along, axes_[axis].curve, size);
  const auto ends = std::minmax(*grid_.find(low), *grid_.find(high));
  return std::max(std::clamp(between, ends.first, ends.second), roof);
}

std::string GridSurface::place(std::span<const double> sizes) const {
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    parts.push_back(fmt::format("{}={}", axes_[axis].column, sizes[axis]));
  return core::join(parts, " ");
}

}  // namespace assay::store
