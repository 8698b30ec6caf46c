#include "goal/synth/held_share.h"

#include <gtest/gtest.h>

namespace assay::goal {
namespace {

TEST(HeldShare, IsTheTimeBesideEachBySumOfShares) {
  const HeldShare held({{100, 300, 0.25}, {200, 400, 0.5}, {1000, 1100, 0.125}});
  EXPECT_DOUBLE_EQ(held.held_ns(0, 100), 0);
  EXPECT_DOUBLE_EQ(held.held_ns(0, 200), 25);
  EXPECT_DOUBLE_EQ(held.held_ns(200, 300), 75);
  EXPECT_DOUBLE_EQ(held.held_ns(250, 350), 37.5 + 25);
  EXPECT_DOUBLE_EQ(held.held_ns(400, 1000), 0);
  EXPECT_DOUBLE_EQ(held.held_ns(0, 5000), 50 + 100 + 12.5);
}

TEST(HeldShare, IsNothingWithoutCollectives) {
  EXPECT_DOUBLE_EQ(HeldShare({}).held_ns(0, 100), 0);
}

}  // namespace
}  // namespace assay::goal
