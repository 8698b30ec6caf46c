#include "collect/run/case_time.h"

#include <gtest/gtest.h>

namespace assay::collect {
namespace {

TEST(TimeUse, IsByOperatorAndOfAll) {
  const std::vector<TimeUse> uses =
      time_use({{"gemm", 10, 8}, {"moe", 20, 5}, {"gemm", 30, 22}, {"gemm", 5, 4}});
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(uses[0].operator_name, "gemm");
  EXPECT_EQ(uses[0].cases, 3);
  EXPECT_DOUBLE_EQ(uses[0].wall_seconds, 0.045);
  EXPECT_DOUBLE_EQ(uses[0].kernel_seconds, 0.034);
  EXPECT_DOUBLE_EQ(uses[0].overhead_median_ms, 2);
  EXPECT_DOUBLE_EQ(uses[1].share(), 0.25);
  EXPECT_EQ(uses[2].operator_name, "all");
  EXPECT_DOUBLE_EQ(uses[2].wall_seconds, 0.065);
  EXPECT_EQ(uses[2].cases, 4);
}

TEST(TimeUse, OfOneOperatorHasNoSum) {
  EXPECT_EQ(time_use({{"gemm", 10, 8}}).size(), 1U);
  EXPECT_TRUE(time_use({}).empty());
}

}  // namespace
}  // namespace assay::collect
