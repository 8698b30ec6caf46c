#include "core/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::core {
namespace {

TEST(Statistics, MomentsOfASmallSample) {
  const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(mean(values), 5);
  EXPECT_DOUBLE_EQ(median(values), 4.5);
  EXPECT_DOUBLE_EQ(population_deviation(values), 2);
  EXPECT_NEAR(sample_deviation(values), 2.13808993529939, 1e-12);
  EXPECT_TRUE(std::isnan(mean({})));
}

// Two-sided 95 % quantiles of the printed t tables.
TEST(Statistics, AMediansIntervalSaysWithWhichConfidenceItHoldsIt) {
  EXPECT_DOUBLE_EQ(median_confidence(7, kMedianTail), 1 - 2.0 / 128);
  EXPECT_DOUBLE_EQ(median_confidence(5, kMedianTail), 0.9375);
  EXPECT_DOUBLE_EQ(median_confidence(1, kMedianTail), 0);
  EXPECT_TRUE(std::isnan(median_confidence(0, kMedianTail)));
  // The interval leaves out one of nine values at either end: 1 + 9 of 512 outcomes.
  EXPECT_NEAR(median_confidence(9, kMedianTail), 1 - 2 * 10.0 / 512, 1e-12);
  for (std::size_t count = 6; count <= 400; ++count)
    EXPECT_GE(median_confidence(count, kMedianTail), 0.95) << count;
}

TEST(Statistics, StudentTMatchesTheTables) {
  EXPECT_NEAR(student_t(0.95, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_t(0.95, 2), 4.30265, 1e-5);
  EXPECT_NEAR(student_t(0.95, 10), 2.22814, 1e-5);
  EXPECT_NEAR(student_t(0.99, 30), 2.75000, 1e-5);
  EXPECT_NEAR(student_t(0.95, 1e6), 1.95996, 1e-4);
}

TEST(Statistics, WelchIntervalHoldsZeroForTheSamePopulation) {
  const double a[] = {10.0, 10.2, 9.9, 10.1};
  const double b[] = {10.1, 9.95, 10.05, 10.0};
  const Difference same = welch_difference(a, b, 0.95);
  ASSERT_TRUE(same.valid);
  EXPECT_LT(same.low, 0);
  EXPECT_GT(same.high, 0);
  const double c[] = {12.0, 12.1, 11.9, 12.05};
  EXPECT_GT(welch_difference(a, c, 0.95).low, 1.7);
  EXPECT_FALSE(welch_difference(std::span(a).first(1), c, 0.95).valid);
}

// Both means have the same variance, so Satterthwaite's estimate is 4 / (1 / 2 + 1 / 6) = 6, and
// 2 (3 - 1) = 4 is the limit; t(0.975, 4) = 2.776445 (printed tables).
TEST(Statistics, WelchIntervalHasTheDegreesOfFreedomOfUnequalSamples) {
  const double few[] = {-1, 0, 1};                   // the variance of the mean is 1/3
  const double many[] = {8, 8, 10, 10, 11, 11, 12};  // the same
  const double half = 2.776445 * std::sqrt(2.0 / 3);
  for (const bool swapped : {false, true}) {
    const Difference found =
        swapped ? welch_difference(many, few, 0.95) : welch_difference(few, many, 0.95);
    EXPECT_NEAR(found.difference, swapped ? -10 : 10, 1e-12);
    EXPECT_NEAR(found.high - found.difference, half, 1e-5);
    EXPECT_NEAR(found.difference - found.low, half, 1e-5);
  }
}

// Printed tables: the quantile of F at 97.5 % with 2 and 2 degrees of freedom is 39.00. By hand,
// Welch's estimate for 1 and 100 is 101^2 / (1/4 + 100^2/4) - 2 = 2.08.
TEST(Statistics, EqualSpreadsHaveStudentsDegreesOfFreedomAndOthersWelchs) {
  EXPECT_DOUBLE_EQ(difference_freedom(1, 3, 1, 3), 4);
  EXPECT_DOUBLE_EQ(difference_freedom(1, 3, 38.9, 3), 4);
  EXPECT_NEAR(difference_freedom(1, 3, 39.1, 3), 2.2045, 1e-4);
  EXPECT_NEAR(difference_freedom(1, 3, 100, 3), 2.0800, 1e-4);
  EXPECT_DOUBLE_EQ(difference_freedom(0, 3, 1, 3), 2);
  EXPECT_DOUBLE_EQ(difference_freedom(1, 2, 0, 9), 1);
  EXPECT_NEAR(student_confidence(2.776445, 4), 0.95, 1e-6);
}

// A side without spread adds no degrees of freedom: 3 - 1 remain.
TEST(Statistics, WelchIntervalOfASideWithoutSpreadIsThatOfTheOther) {
  const double still[] = {5, 5, 5, 5, 5, 5};
  const double spread[] = {1, 2, 3};
  const Difference found = welch_difference(still, spread, 0.95);
  EXPECT_NEAR(found.high - found.difference, 4.30265 / std::sqrt(3.0), 1e-4);
  EXPECT_NEAR(found.difference - found.low, 4.30265 / std::sqrt(3.0), 1e-4);
}

// The variance of the three is 1, so that of the difference is 1 + 1/3 by hand; t(0.975, 2) is
// 4.302653 in printed tables.
TEST(Statistics, ASingleValueHasTheSpreadOfTheOthers) {
  const double alone[] = {9};
  const double others[] = {1, 2, 3};
  const double half = 4.302653 * std::sqrt(4.0 / 3);
  const Difference found = student_difference(alone, others, 0.95);
  ASSERT_TRUE(found.valid);
  EXPECT_NEAR(found.low, -7 - half, 1e-5);
  EXPECT_NEAR(found.high, -7 + half, 1e-5);
  EXPECT_NEAR(student_difference(others, alone, 0.95).low, 7 - half, 1e-5);
  EXPECT_FALSE(student_difference(alone, alone, 0.95).valid);
  EXPECT_FALSE(student_difference({}, others, 0.95).valid);
}

TEST(Statistics, ManyComparisonsNeedMoreConfidenceEach) {
  EXPECT_DOUBLE_EQ(confidence_of_each(0.95, 1), 0.95);
  EXPECT_DOUBLE_EQ(confidence_of_each(0.95, 5), 0.99);
  EXPECT_DOUBLE_EQ(confidence_of_each(0.95, 0), 0.95);
}

}  // namespace
}  // namespace assay::core
