#include "store/answers/surface.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::store {
namespace {

struct Points {
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

Points grid_without(double hole_m, double hole_n) {
  Points points;
  for (const double m : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    for (const double n : {32.0, 64.0, 128.0, 256.0}) {
      if (m != hole_m || n != hole_n) points.add(m, n, plain(m, n));
    }
  }
  return points;
}

Surface surface_of(const Points& points, Roofline roofline = nullptr) {
  return {{{"m", Curve::kLine}, {"n", Curve::kLine}},
          Grid(2, points.sizes, points.latencies),
          std::move(roofline)};
}

Estimate answer(const Surface& surface, double m, double n, Beyond beyond = Beyond::kRefuse) {
  const std::vector<double> sizes{m, n};
  const auto estimate = surface.at(sizes, beyond);
  EXPECT_TRUE(estimate.ok()) << (estimate.ok() ? "" : estimate.error().message);
  return estimate.ok() ? estimate.value() : Estimate{};
}

std::string method(const Surface& surface, double m, double n) {
  const std::vector<double> sizes{m, n};
  return surface.method(answer(surface, m, n), sizes);
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

TEST(Surface, GivesMeasuredPointsAsTheyAre) {
  const Points points = grid_without(0, 0);
  // Too high on purpose: a measured point is not raised to the roofline.
  const Surface surface = surface_of(points, [](std::span<const double>) { return 1.0; });
  for (std::size_t i = 0; i < points.latencies.size(); ++i) {
    const Estimate estimate = answer(surface, points.sizes[2 * i], points.sizes[2 * i + 1]);
    EXPECT_EQ(estimate.latency, points.latencies[i]);
    EXPECT_TRUE(estimate.is_exact());
    EXPECT_FALSE(estimate.uncertainty.has_value());
  }
  EXPECT_EQ(method(surface, 4, 64), "exact");
}

TEST(Surface, IsExactWhereTimesAreLinearInEachSize) {
  const Surface surface = surface_of(grid_without(0, 0));
  const Estimate estimate = answer(surface, 5, 100);
  EXPECT_NEAR(estimate.latency, plain(5, 100), 1e-12);
  EXPECT_EQ(method(surface, 5, 100), "linear in m and n");
  EXPECT_EQ(surface.place(surface.grid().sizes_of(estimate.low.position)), "m=4 n=64");
  EXPECT_EQ(surface.place(surface.grid().sizes_of(estimate.high.position)), "m=8 n=128");
  ASSERT_TRUE(estimate.uncertainty.has_value());
  EXPECT_LT(*estimate.uncertainty, 1e-9);
}

TEST(Surface, ReachesOverAHole) {
  const Surface surface = surface_of(grid_without(4, 64));
  EXPECT_NEAR(answer(surface, 4, 64).latency, plain(4, 64), 1e-12);
  EXPECT_NE(method(surface, 4, 64).find("over a hole in"), std::string::npos);
  EXPECT_NEAR(answer(surface, 3, 70).latency, plain(3, 70), 1e-12);
}

TEST(Surface, TakesNearestPointsWhereNoBracketExists) {
  // A staircase: m x n of at most 512, so that (16, 256) has no bracket.
  Points points;
  for (const double m : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    for (const double n : {32.0, 64.0, 128.0, 256.0}) {
      if (m * n <= 1024) points.add(m, n, 1e-4 * m * n);
    }
  }
  const Surface surface = surface_of(points);
  const Estimate estimate = answer(surface, 12, 120);
  EXPECT_TRUE(estimate.from_nearest);
  EXPECT_NEAR(estimate.latency, 0.144, 0.144 * 0.05);
  EXPECT_NE(method(surface, 12, 120).find("nearest points (hole at m=12 n=120)"),
            std::string::npos);
}

TEST(Surface, RefusesWhatIsFarBeyondAndAnswersOnRequest) {
  const Surface surface = surface_of(grid_without(0, 0));
  const std::vector<double> far{160, 64};
  const auto refused = surface.at(far, Beyond::kRefuse);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "m was measured from 1 to 16; 160 is 10 times beyond that");
  EXPECT_NEAR(answer(surface, 160, 64, Beyond::kExtrapolate).latency, plain(160, 64), 1e-9);
  EXPECT_EQ(method(surface, 48, 64), "extrapolated above m=16 (x3)");
}

TEST(Surface, AnswersExactlyAtTheLimitAndNotBeyondIt) {
  const Surface surface = surface_of(grid_without(0, 0));
  EXPECT_TRUE(surface.at(std::vector<double>{16 * kMostBeyond, 64}, Beyond::kRefuse).ok());
  EXPECT_FALSE(surface.at(std::vector<double>{16 * kMostBeyond + 0.01, 64}, Beyond::kRefuse).ok());
  EXPECT_TRUE(surface.at(std::vector<double>{1 / kMostBeyond, 64}, Beyond::kRefuse).ok());
  EXPECT_FALSE(surface.at(std::vector<double>{1 / kMostBeyond - 0.01, 64}, Beyond::kRefuse).ok());
}

// The only two points make no bracket, so that the nearest one answers.
TEST(Surface, RefusesAHoleWhoseNearestPointIsBeyondTheLimit) {
  Points points;
  points.add(0, 7, 1);
  points.add(7, 0, 1);
  const Surface surface = surface_of(points);
  // One is added to sizes, since they may be 0: (3, 3) is 4 times away from both points.
  EXPECT_TRUE(surface.at(std::vector<double>{3, 3}, Beyond::kRefuse).ok());
  points = {};
  points.add(0, 7.5, 1);
  points.add(7.5, 0, 1);
  const auto refused = surface_of(points).at(std::vector<double>{3.3, 3.3}, Beyond::kRefuse);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("the nearest measured point"), std::string::npos);
}

TEST(Surface, HoldsTheLatencyBelowTheSmallestSize) {
  const Surface surface = surface_of(grid_without(0, 0));
  EXPECT_EQ(answer(surface, 1, 16).latency, plain(1, 32));
}

TEST(Surface, ExtrapolatesASingleValueByTheRooflineAlone) {
  Points points;
  points.add(1, 64, 0.1);
  points.add(2, 64, 0.2);
  const auto refused = surface_of(points).at(std::vector<double>{1, 128}, Beyond::kRefuse);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "n was measured at 64 only");
  const Surface bounded =
      surface_of(points, [](std::span<const double> sizes) { return 1e-4 * sizes[0] * sizes[1]; });
  EXPECT_NEAR(answer(bounded, 1, 128).latency, 0.2, 1e-12);
}

Surface quadratic_surface(Roofline roofline) {
  std::vector<double> sizes;
  std::vector<double> latencies;
  for (double s = 16; s <= 4096; s *= 2) {
    sizes.push_back(s);
    latencies.push_back(0.01 + 1e-7 * s * s);
  }
  return {{{"isl", Curve::kCubic}}, Grid(1, sizes, latencies), std::move(roofline)};
}

TEST(Surface, FollowsTheRooflineBetweenPoints) {
  // The roofline is half of the quadratic part: the rest is interpolated.
  const auto roofline = [](std::span<const double> sizes) { return 0.5e-7 * sizes[0] * sizes[0]; };
  const Surface bounded = quadratic_surface(roofline);
  const Surface free = quadratic_surface(nullptr);
  double error_bounded = 0;
  double error_free = 0;
  for (double s = 17; s < 4096; s *= 1.1) {
    const std::vector<double> sizes{s};
    const double real = 0.01 + 1e-7 * s * s;
    const double latency = bounded.at(sizes, Beyond::kRefuse).value().latency;
    EXPECT_GE(latency, roofline(sizes));
    error_bounded = std::max(error_bounded, std::abs(latency / real - 1));
    error_free =
        std::max(error_free, std::abs(free.at(sizes, Beyond::kRefuse).value().latency / real - 1));
  }
  EXPECT_LT(error_free, 0.06);
  EXPECT_LT(error_bounded, 0.6 * error_free);
}

TEST(Surface, IsMonotoneWhereThePointsAre) {
  for (const Surface& surface : {quadratic_surface(nullptr)}) {
    double last = 0;
    for (double s = 16; s <= 4096; s += 3) {
      const double latency = surface.at(std::vector<double>{s}, Beyond::kRefuse).value().latency;
      EXPECT_GE(latency, last) << s;
      last = latency;
    }
  }
}

TEST(Surface, NeverFasterThanTheRoofline) {
  // Flat at first, so that straight lines would pass below the bend of the roofline.
  const Roofline roofline = [](std::span<const double> sizes) {
    return std::max(0.01, 1e-3 * std::sqrt(sizes[0] * sizes[1]));
  };
  Points points;
  for (const double m : {1.0, 64.0, 4096.0}) {
    for (const double n : {1.0, 64.0, 4096.0})
      points.add(m, n, roofline(std::vector<double>{m, n}));
  }
  const Surface surface = surface_of(points, roofline);
  for (double m = 1; m < 4096; m *= 1.7) {
    for (double n = 1; n < 4096; n *= 1.9)
      EXPECT_GE(answer(surface, m, n).latency, roofline(std::vector<double>{m, n}) * (1 - 1e-12));
  }
}

TEST(Surface, PredictsAHeldOutPointFromItsNeighbours) {
  Points points = grid_without(0, 0);
  points.latencies[4 * 2 + 1] *= 1.5;  // m=4 n=64
  const Surface surface = surface_of(points);
  const auto predicted = surface.held_out({2, 1}, 0);
  ASSERT_TRUE(predicted.has_value());
  EXPECT_NEAR(*predicted, plain(4, 64), 1e-12);
  EXPECT_FALSE(surface.held_out({0, 1}, 0).has_value());
  // Half of the corners' errors come from the point that sticks out.
  EXPECT_GT(answer(surface, 5, 64).uncertainty.value_or(0), 0.2);
}

// A step at m = 6 in the row n = 64 alone; points were added around it there.
TEST(Surface, PointsThatOnlyOneRowHasServeThatRow) {
  const auto truth = [](double m, double n) { return plain(m, n) + (n == 64 && m >= 6 ? 1 : 0); };
  Points points;
  for (const double m : {1.0, 4.0, 16.0}) {
    for (const double n : {32.0, 64.0, 128.0})
      points.add(m, n, truth(m, n));
  }
  for (const double m : {5.0, 5.5, 6.0, 7.0, 8.0})
    points.add(m, 64, truth(m, 64));
  const Surface surface = surface_of(points);
  EXPECT_NEAR(answer(surface, 5.2, 64).latency, truth(5.2, 64), 1e-9);
  EXPECT_NEAR(answer(surface, 12, 64).latency, truth(12, 64), 1e-9);
  // Other rows do not know of them, and lose nothing by them.
  EXPECT_FALSE(answer(surface, 6, 32).from_nearest);
  EXPECT_NEAR(answer(surface, 6, 32).latency, truth(6, 32), 1e-9);
  EXPECT_NEAR(answer(surface, 7, 128).latency, truth(7, 128), 1e-9);
}

}  // namespace
}  // namespace assay::store
