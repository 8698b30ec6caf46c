#include "store/answers/grid_surface.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::store {
namespace {

struct GridPoints {
  std::vector<double> sizes;
  std::vector<double> latencies;

  void add(double m, double n, double latency) {
    sizes.insert(sizes.end(), {m, n});
    latencies.push_back(latency);
  }
};

// 3 us and what m x n elements take.
double plain(double m, double n) {
  return 0.003 + 1e-6 * m * n;
}

GridPoints grid_without(double hole_m, double hole_n) {
  GridPoints points;
  for (const double m : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    for (const double n : {32.0, 64.0, 128.0, 256.0}) {
      if (m != hole_m || n != hole_n) points.add(m, n, plain(m, n));
    }
  }
  return points;
}

GridSurface surface_of(const GridPoints& points, Roofline roofline = nullptr) {
  return {{{"m", Curve::kLine}, {"n", Curve::kLine}},
          Grid(2, points.sizes, points.latencies),
          std::move(roofline)};
}

// Slopes of 1 over a width of 1, and of 4 over a width of 3. Fritsch and Butland weigh the slope
// before the point with 2 x 3 + 1 and that after it with 3 + 2 x 1: (7 + 5) / (7 / 1 + 5 / 4).
TEST(Curve, WeighsTheSlopeOfTheShorterIntervalMore) {
  const Along along{.x = {0, 1, 4, 0}, .y = {0, 1, 13, 0}, .has_before = true, .has_after = false};
  const double slope_low = 12 / (7 + 5.0 / 4);
  const double slope_high = 4;  // of the straight line, where there is no point after
  const double t = 0.5;
  const double expected = 0.5 * 1 + 0.5 * 13 + 3 * t * t * t * (slope_low - slope_high);
  EXPECT_DOUBLE_EQ(value_along(along, Curve::kCubic, 2.5), expected);
  EXPECT_DOUBLE_EQ(value_along(along, Curve::kLine, 2.5), 7);
}

TEST(Curve, WeighsTheSlopeAfterTheBracketToo) {
  const Along along{.x = {0, 0, 1, 4}, .y = {0, 0, 1, 13}, .has_before = false, .has_after = true};
  const double slope_high = 12 / (7 + 5.0 / 4);
  EXPECT_DOUBLE_EQ(value_along(along, Curve::kCubic, 0.5), 0.5 + 0.125 * (1 - slope_high));
}

TEST(GridSurface, PredictsAHeldOutPointFromItsNeighbours) {
  GridPoints points = grid_without(0, 0);
  points.latencies[4 * 2 + 1] *= 1.5;  // m=4 n=64
  const GridSurface surface = surface_of(points);
  const auto predicted = surface.held_out({2, 1}, 0);
  ASSERT_TRUE(predicted.has_value());
  EXPECT_NEAR(*predicted, plain(4, 64), 1e-12);
  EXPECT_FALSE(surface.held_out({0, 1}, 0).has_value());
}

TEST(GridSurface, PredictsOverAHole) {
  const GridSurface surface = surface_of(grid_without(4, 64));
  const auto predicted = surface.held_out({1, 1}, 0);  // m=2 from m=1 and m=8
  ASSERT_TRUE(predicted.has_value());
  EXPECT_NEAR(*predicted, plain(2, 64), 1e-12);
}

// The roofline bends at m = 4; what lies above it is even.
TEST(GridSurface, FollowsTheRooflineBetweenPoints) {
  const Roofline roofline = [](std::span<const double> sizes) {
    return 1e-3 * std::max(4.0, sizes[0]);
  };
  GridPoints points;
  for (const double m : {1.0, 4.0, 16.0})
    points.add(m, 32, roofline(std::vector<double>{m, 32}) + 0.002);
  const auto predicted = surface_of(points, roofline).held_out({1, 0}, 0);
  ASSERT_TRUE(predicted.has_value());
  EXPECT_NEAR(*predicted, 0.006, 1e-12);
}

}  // namespace
}  // namespace assay::store
