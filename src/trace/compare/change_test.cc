#include "trace/compare/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay::trace {
namespace {

using model::Better;
using Values = std::vector<double>;

Change change(const Values& baseline, const Values& test, Better better = Better::kLower) {
  return measure_change(baseline, test, better, 0.95);
}

TEST(Change, LessTimeIsPositiveAndBetter) {
  const Change c = change({10.0, 10.1, 9.9}, {8.0, 8.1, 7.9});
  EXPECT_DOUBLE_EQ(c.difference, -2);
  EXPECT_DOUBLE_EQ(c.percent, 20);
  EXPECT_DOUBLE_EQ(c.ratio, 0.8);
  EXPECT_EQ(c.verdict, Verdict::kBetter);
  // Welch: s² = 0.01 and n = 3 on both sides, so ν = 4 and t = 2.776445 (printed tables).
  const double half = 2.776445 * std::sqrt(2 * 0.01 / 3);
  EXPECT_NEAR(c.low, -2 - half, 1e-6);
  EXPECT_NEAR(c.high, -2 + half, 1e-6);
  EXPECT_NEAR(c.percent_low, 20 - 10 * half, 1e-5);
  EXPECT_NEAR(c.percent_high, 20 + 10 * half, 1e-5);
}

TEST(Change, DirectionDecidesTheVerdict) {
  const Values low = {1.0, 1.01, 0.99};
  const Values high = {2.0, 2.01, 1.99};
  EXPECT_EQ(change(low, high, Better::kLower).verdict, Verdict::kWorse);
  EXPECT_EQ(change(low, high, Better::kHigher).verdict, Verdict::kBetter);
  EXPECT_NEAR(change(low, high, Better::kHigher).percent, 100, 1e-9);
  EXPECT_EQ(change(low, high, Better::kNeither).verdict, Verdict::kLonger);
  EXPECT_EQ(change(high, low, Better::kNeither).verdict, Verdict::kShorter);
}

TEST(Change, NoiseIsSimilar) {
  const Change c = change({10, 12, 11}, {10.5, 11.8, 11.2});
  EXPECT_EQ(c.verdict, Verdict::kSimilar);
  EXPECT_LT(c.percent_low, 0);
  EXPECT_GT(c.percent_high, 0);
}

TEST(Change, FewerThanTwoValuesAreNeverCertain) {
  const Change one = change({10}, {20, 21, 22});
  EXPECT_EQ(one.verdict, Verdict::kUnknown);
  EXPECT_EQ(verdict_text(one, "step"), "Unknown: 1 step");
  EXPECT_TRUE(std::isnan(one.percent_low));
  EXPECT_EQ(verdict_text(change({}, {}), "step"), "Unknown: no steps");
}

TEST(Change, OneSideOnly) {
  const Change c = change({10, 11}, {});
  EXPECT_EQ(verdict_text(c, "step"), "Only in baseline");
  EXPECT_TRUE(std::isnan(c.percent));
  EXPECT_EQ(verdict_text(change({}, {1}), "step"), "Only in test");
}

TEST(Change, ZeroBaselineHasNoPercentage) {
  const Change grown = change({0, 0}, {1.0, 1.1});
  EXPECT_TRUE(std::isnan(grown.percent));
  EXPECT_TRUE(std::isnan(grown.percent_low));
  EXPECT_TRUE(std::isnan(grown.ratio));
  EXPECT_EQ(grown.verdict, Verdict::kWorse);
}

TEST(Change, EqualSidesAreSimilarWithoutNaN) {
  for (const Values& values : {Values{0, 0, 0}, Values{5, 5, 5}, Values{4, 5, 6}}) {
    const Change c = change(values, values);
    EXPECT_EQ(c.verdict, Verdict::kSimilar);
    EXPECT_EQ(c.percent, 0);
    EXPECT_FALSE(std::signbit(c.percent));
    EXPECT_EQ(c.ratio, 1);
    EXPECT_FALSE(std::isnan(c.percent_low));
    EXPECT_FALSE(std::isnan(c.percent_high));
  }
}

}  // namespace
}  // namespace assay::trace
