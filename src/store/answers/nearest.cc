#include <algorithm>
#include <array>
#include <cmath>

#include "store/answers/surface.h"

namespace assay::store {
namespace {

// The logarithm of a size, which may be 0 (`step`).
double scaled(double size) {
  return std::log2(size + 1);
}

struct Near {
  double distance = 0;  // squared, in doublings
  const GridPoint* point = nullptr;
};

std::vector<Near> nearest_points(const Grid& grid, std::span<const double> sizes) {
  std::vector<Near> near;
  near.reserve(grid.points().size());
  for (const GridPoint& point : grid.points()) {
    if (point.latency <= 0) continue;
    const auto there = grid.sizes_of(point.position);
    double distance = 0;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const double away = scaled(there[axis]) - scaled(sizes[axis]);
      distance += away * away;
    }
    near.push_back({.distance = distance, .point = &point});
  }
  const std::size_t count = std::min(near.size(), 2 * sizes.size() + 2);
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end(),
                    [](const Near& a, const Near& b) { return a.distance < b.distance; });
  near.resize(count);
  return near;
}

constexpr std::size_t kMostTerms = kMostAxes + 1;
using Row = std::array<double, kMostTerms + 1>;
using Matrix = std::array<Row, kMostTerms>;

// Solves for the first unknown by elimination; the matrix is positive definite.
double first_unknown(Matrix& matrix, std::size_t terms) {
  for (std::size_t pivot = terms - 1; pivot > 0; --pivot) {
    for (std::size_t row = 0; row < pivot; ++row) {
      const double factor = matrix[row][pivot] / matrix[pivot][pivot];
      for (std::size_t column = 0; column <= pivot; ++column)
        matrix[row][column] -= factor * matrix[pivot][column];
      matrix[row][kMostTerms] -= factor * matrix[pivot][kMostTerms];
    }
  }
  return matrix[0][kMostTerms] / matrix[0][0];
}

// Keeps the slopes near 0 that the points do not determine.
constexpr double kRidge = 1e-2;

}  // namespace

Nearest nearest_plane(const Surface& surface, std::span<const double> sizes) {
  const Grid& grid = surface.grid();
  const std::vector<Near> near = nearest_points(grid, sizes);
  if (near.empty()) return {.latency = 0, .first = {}, .second = {}, .factor = 1e9};
  const double roof = surface.roofline(sizes);
  const std::size_t terms = sizes.size() + 1;
  Matrix matrix{};
  for (std::size_t axis = 1; axis < terms; ++axis)
    matrix[axis][axis] = kRidge;
  for (const Near& neighbour : near) {
    const auto there = grid.sizes_of(neighbour.point->position);
    std::array<double, kMostTerms> term{1};
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      term[axis + 1] = scaled(there[axis]) - scaled(sizes[axis]);
    const double roof_there = surface.roofline(std::span(there.data(), sizes.size()));
    const double unit = roof > 0 && roof_there > 0 ? roof_there : 1;
    const double weight = 1 / (neighbour.distance + 1e-3);
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j)
        matrix[i][j] += weight * term[i] * term[j];
      matrix[i][kMostTerms] += weight * term[i] * std::log(neighbour.point->latency / unit);
    }
  }
  Nearest result{.latency = std::exp(first_unknown(matrix, terms)) * (roof > 0 ? roof : 1),
                 .first = *near[0].point,
                 .second = *near[std::min<std::size_t>(1, near.size() - 1)].point};
  const auto there = grid.sizes_of(result.first.position);
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    result.factor =
        std::max(result.factor, std::exp2(std::abs(scaled(there[axis]) - scaled(sizes[axis]))));
  return result;
}

}  // namespace assay::store
