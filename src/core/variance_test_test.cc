#include "core/variance_test.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::core {
namespace {

TEST(VarianceTest, TheFDistributionHasItsTabulatedQuantiles) {
  EXPECT_NEAR(f_probability(9.2766, 3, 3), 0.05, 1e-5);
  EXPECT_NEAR(f_probability(4.1028, 2, 10), 0.05, 1e-5);
  EXPECT_EQ(f_probability(0, 3, 3), 1);
}

TEST(VarianceTest, PooledVariancesAreWeightedByTheirFreedom) {
  const std::vector<SampleVariance> samples = {{4, 2}, {1, 4}};
  EXPECT_DOUBLE_EQ(pooled_variance(samples).variance, 2);
  EXPECT_EQ(pooled_variance(samples).freedom, 6);
}

TEST(VarianceTest, BartlettTellsUnequalSpreadsApart) {
  // The statistic is (9 ln 9 - 3 ln 25) / (1 + 4 / 27) = 8.813; two degrees of freedom make that
  // exp(-8.813 / 2).
  EXPECT_NEAR(equal_spread_probability(std::vector<SampleVariance>{{25, 3}, {1, 3}, {1, 3}}),
              0.012199, 1e-6);
  EXPECT_DOUBLE_EQ(equal_spread_probability(std::vector<SampleVariance>{{2, 3}, {2, 3}}), 1);
  EXPECT_EQ(equal_spread_probability(std::vector<SampleVariance>{{2, 3}, {0, 3}}), 0);
  EXPECT_EQ(equal_spread_probability(std::vector<SampleVariance>{{0, 3}, {0, 3}}), 1);
  EXPECT_EQ(equal_spread_probability(std::vector<SampleVariance>{{2, 3}}), 1);
  std::vector<SampleVariance> many(20, {1, 19});
  many.front().variance = 2500;
  EXPECT_NEAR(equal_spread_probability(many), 0, 1e-12);
  many.front().variance = 1e300;
  EXPECT_EQ(equal_spread_probability(many), 0);
}

}  // namespace
}  // namespace assay::core
