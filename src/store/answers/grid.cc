#include "store/answers/grid.h"

#include <algorithm>

#include "core/check.h"

namespace assay::store {
namespace {

std::vector<double> distinct(std::size_t axis,
                             std::size_t num_axes,
                             std::span<const double> sizes) {
  std::vector<double> values;
  for (std::size_t i = axis; i < sizes.size(); i += num_axes)
    values.push_back(sizes[i]);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

double slope(const Along& along, std::size_t from) {
  return (along.y[from + 1] - along.y[from]) / (along.x[from + 1] - along.x[from]);
}

// The weighted harmonic mean of the slopes on both sides of point `at`; 0 at a turn. The slope of
// the shorter interval has the larger weight.
double slope_at(const Along& along, std::size_t at) {
  const double before = slope(along, at - 1);
  const double after = slope(along, at);
  if (before * after <= 0) return 0;
  const double width_before = along.x[at] - along.x[at - 1];
  const double width_after = along.x[at + 1] - along.x[at];
  const double weight_before = 2 * width_after + width_before;
  const double weight_after = width_after + 2 * width_before;
  return (weight_before + weight_after) / (weight_before / before + weight_after / after);
}

}  // namespace

Grid::Grid(std::size_t num_axes, std::span<const double> sizes, std::span<const double> latencies) {
  ASSAY_CHECK(num_axes <= kMostAxes, "more axes than a grid takes");
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    axes_.push_back(distinct(axis, num_axes, sizes));
  points_.reserve(latencies.size());
  rows_.reserve(latencies.size());
  by_number_.reserve(latencies.size());
  for (std::size_t row = 0; row < latencies.size(); ++row) {
    GridPoint point{.position = {}, .latency = latencies[row]};
    for (std::size_t axis = 0; axis < num_axes; ++axis) {
      const auto& values = axes_[axis];
      const double size = sizes[row * num_axes + axis];
      point.position[axis] = static_cast<std::uint32_t>(
          std::lower_bound(values.begin(), values.end(), size) - values.begin());
    }
    const auto number = static_cast<std::uint32_t>(points_.size());
    if (!by_number_.emplace(number_of(point.position), number).second) continue;
    points_.push_back(point);
    rows_.push_back(static_cast<std::uint32_t>(row));
  }
}

std::uint64_t Grid::number_of(const Position& position) const {
  std::uint64_t number = 0;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    number = number * axes_[axis].size() + position[axis];
  return number;
}

const double* Grid::find(const Position& position) const {
  const auto found = by_number_.find(number_of(position));
  return found == by_number_.end() ? nullptr : &points_[found->second].latency;
}

std::size_t Grid::row_at(const Position& position) const {
  return rows_[by_number_.at(number_of(position))];
}

std::array<double, kMostAxes> Grid::sizes_of(const Position& position) const {
  std::array<double, kMostAxes> sizes{};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    sizes[axis] = axes_[axis][position[axis]];
  return sizes;
}

bool find_along(const Grid& grid, Position& position, std::size_t axis, int step, int reach) {
  const auto count = static_cast<std::int64_t>(grid.values(axis).size());
  const auto start = static_cast<std::int64_t>(position[axis]);
  for (int away = 1; away <= reach; ++away) {
    const std::int64_t index = start + std::int64_t{step} * away;
    if (index < 0 || index >= count) return false;
    position[axis] = static_cast<std::uint32_t>(index);
    if (grid.find(position) != nullptr) return true;
  }
  return false;
}

Curve curve_of(std::string_view column) {
  return column == "isl" || column == "seq_len" || column == "s" ? Curve::kCubic : Curve::kLine;
}

double value_along(const Along& along, Curve curve, double x) {
  const double width = along.x[2] - along.x[1];
  const double t = (x - along.x[1]) / width;
  if (curve == Curve::kLine) return along.y[1] + t * (along.y[2] - along.y[1]);
  const double middle = slope(along, 1);
  const double at_low = along.has_before ? slope_at(along, 1) : middle;
  const double at_high = along.has_after ? slope_at(along, 2) : middle;
  const double u = 1 - t;
  return (1 + 2 * t) * u * u * along.y[1] + t * u * u * width * at_low +
         t * t * (3 - 2 * t) * along.y[2] - t * t * u * width * at_high;
}

}  // namespace assay::store
