#include "plan/compat/grid.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::plan::compat {
namespace {

double product(const Place& place) {
  return place[0] * place[1];
}

Grid plane() {
  Grid grid(2);
  for (const double x : {1.0, 2.0, 4.0}) {
    for (const double y : {10.0, 20.0, 40.0})
      grid.add({x, y}, x + y);
  }
  grid.finish();
  return grid;
}

TEST(CompatGrid, MeasuredPlacesAnswerAsTheyAre) {
  EXPECT_DOUBLE_EQ(plane().at({2, 20}, product), 22);
}

TEST(CompatGrid, TheFirstOfTwoRowsAtAPlaceCounts) {
  Grid grid(1);
  grid.add({1}, 5);
  grid.add({1}, 7);
  grid.finish();
  EXPECT_DOUBLE_EQ(grid.at({1}, [](const Place&) { return 1.0; }), 5);
}

TEST(CompatGrid, BetweenRowsItRunsInStraightLines) {
  EXPECT_DOUBLE_EQ(plane().at({3, 30}, product), 33);
}

TEST(CompatGrid, SquareRootsAreBlendedAlongTheirAxis) {
  Grid grid(1, 0);
  grid.add({1}, 1);
  grid.add({3}, 9);
  grid.finish();
  EXPECT_DOUBLE_EQ(grid.at({2}, product), 4);
}

TEST(CompatGrid, WhereOneSideEndsTheOtherKeepsItsShareOfTheRoofline) {
  Grid grid(2);
  for (const double y : {10.0, 20.0, 40.0})
    grid.add({1, y}, 2 * y);
  grid.add({3, 10}, 60);
  grid.finish();
  // At x = 1 and y = 20 the roofline is 20 and the time 40; at x = 2 the roofline is 40.
  EXPECT_DOUBLE_EQ(grid.at({2, 20}, product), 80);
}

TEST(CompatGrid, BeyondTheRowsOfOneAxisTheLastShareHolds) {
  Grid grid(1);
  grid.add({1}, 10);
  grid.add({2}, 16);
  grid.finish();
  const auto least = [](const Place& place) { return place[0]; };
  EXPECT_DOUBLE_EQ(grid.at({8}, least), 64);
  EXPECT_DOUBLE_EQ(grid.at({0.5}, least), 5);
}

TEST(CompatGrid, BeyondSeveralAxesTheNearestSharesAreWeighted) {
  // All rows reach half of the roofline, so that any weights give half.
  Grid grid(2);
  for (const double x : {1.0, 2.0, 4.0}) {
    for (const double y : {10.0, 20.0, 40.0})
      grid.add({x, y}, 2 * x * y);
  }
  grid.finish();
  EXPECT_NEAR(grid.at({16, 40}, product), 2 * 16 * 40, 1e-9);
}

TEST(CompatGrid, NearerRowsWeighMore) {
  // Four rows answer and the fifth ends the weights: distances are 1, 2, 3, 4 and 5 doublings.
  Grid grid(2);
  for (int i = 0; i < 5; ++i)
    grid.add({std::exp2(i), 1}, std::exp2(i) * (5 - i));
  grid.finish();
  const auto least = [](const Place& place) { return place[0]; };
  // Shares are 1, 1/2, 1/3, 1/4 from the nearest on; weights ((5 - d) / (5 d))^2.
  double weights = 0;
  double shares = 0;
  for (int d = 1; d <= 4; ++d) {
    const double weight = (5.0 - d) / (5.0 * d) * (5.0 - d) / (5.0 * d);
    weights += weight;
    shares += weight / d;
  }
  EXPECT_NEAR(grid.at({32, 1}, least), 32 / (shares / weights), 1e-6);
}

TEST(CompatGrid, AnEmptyGridKnowsNothing) {
  Grid grid(2);
  grid.finish();
  EXPECT_TRUE(std::isnan(grid.at({1, 1}, product)));
}

}  // namespace
}  // namespace assay::plan::compat
