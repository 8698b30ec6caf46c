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

}  // namespace

Grid::Grid(std::size_t num_axes, std::span<const double> sizes, std::span<const double> latencies) {
  ASSAY_CHECK(num_axes <= kMostAxes, "more axes than a grid takes");
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    axes_.push_back(distinct(axis, num_axes, sizes));
  points_.reserve(latencies.size());
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
    if (by_number_.emplace(number_of(point.position), number).second) points_.push_back(point);
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

}  // namespace assay::store
