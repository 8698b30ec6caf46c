#include "trace/compare/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

namespace assay::trace {
namespace {

using model::Better;
using Values = std::vector<double>;

Change change(const Values& baseline, const Values& test, Better better = Better::kLower) {
  return measure_change(baseline, test, better, {});
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

TEST(Change, NoiseIsUnclear) {
  const Change c = change({10, 12, 11}, {10.5, 11.8, 11.2});
  EXPECT_EQ(c.verdict, Verdict::kUnclear);
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

TEST(Change, EqualSidesHaveNoNaN) {
  for (const Values& values : {Values{0, 0, 0}, Values{5, 5, 5}, Values{4, 5, 6}}) {
    const Change c = change(values, values);
    EXPECT_EQ(c.verdict, values.front() == values.back() ? Verdict::kSame : Verdict::kUnclear);
    EXPECT_EQ(c.percent, 0);
    EXPECT_FALSE(std::signbit(c.percent));
    EXPECT_EQ(c.ratio, 1);
    EXPECT_FALSE(std::isnan(c.percent_low));
    EXPECT_FALSE(std::isnan(c.percent_high));
  }
}

// With unequally many values, the degrees of freedom of the sides do not simply add up. By hand:
// the variances are 2.5 (n = 5) and 1/2 (n = 2), so a = 1/2, b = 1/4 and v = (3/4)^2 / ((1/4)/4 +
// (1/16)/1) = 4.5, above the limit of 2 (2 - 1) = 2; t(0.975, 2) = 4.302653.
TEST(Change, TheIntervalHasTheDegreesOfFreedomOfUnequalSides) {
  const Change c = change({99, 100, 101, 102, 103}, {110, 111});
  EXPECT_DOUBLE_EQ(c.difference, 9.5);
  const double half = 4.302653 * std::sqrt(1.0 / 2 + 1.0 / 4);
  EXPECT_NEAR(c.low, 9.5 - half, 1e-4);
  EXPECT_NEAR(c.high, 9.5 + half, 1e-4);
}

// The noise between the steps of one run says nothing of the noise between runs.
TEST(Change, OneRunASideIsNeverBetterOrWorse) {
  const Values low = {1.0, 1.01, 0.99};
  const Values high = {2.0, 2.01, 1.99};
  const Criterion one_run{.evidence = Evidence::kOneRun};
  for (const Better better : {Better::kLower, Better::kHigher, Better::kNeither}) {
    EXPECT_EQ(measure_change(low, high, better, one_run).verdict, Verdict::kDifferent);
    EXPECT_EQ(measure_change(low, low, better, one_run).verdict, Verdict::kUnclear);
  }
  EXPECT_EQ(measure_change(Values{1, 1.001}, Values{1, 1.001}, Better::kLower,
                           {.tolerance_percent = 5, .evidence = Evidence::kOneRun})
                .verdict,
            Verdict::kSame);
}

// Five differences of one side by t = 2.9 (v = 4) have p = 0.044 each. Alone, each is certain at
// 95 %; together none is.
TEST(JudgeTogether, ManyVerdictsNeedStrongerEvidence) {
  const Values noise = {10.0, 10.1, 9.9};
  const Values near = {10.237, 10.337, 10.137};
  const Values far = {12.0, 12.1, 11.9};
  std::vector<Change> changes(5, change(noise, near));
  ASSERT_EQ(changes[0].verdict, Verdict::kWorse);
  EXPECT_NEAR(changes[0].p, 0.044, 0.001);
  const auto correct = [&changes] {
    std::vector<Change*> family;
    for (Change& each : changes)
      family.push_back(&each);
    judge_together(family, {});
  };
  correct();
  for (const Change& each : changes) {
    EXPECT_EQ(each.verdict, Verdict::kUnclear);
    EXPECT_NEAR(each.p_corrected, 5 * each.p, 1e-12);
    EXPECT_GT(each.low, 0);  // the interval is that of the row alone
  }
  // Holm multiplies the smallest p by 2, the other by 1.
  changes = {change(noise, near), change(noise, far), change({10}, {11})};
  correct();
  EXPECT_EQ(changes[0].verdict, Verdict::kWorse);
  EXPECT_DOUBLE_EQ(changes[0].p_corrected, changes[0].p);
  EXPECT_DOUBLE_EQ(changes[1].p_corrected, 2 * changes[1].p);
  EXPECT_EQ(changes[2].verdict, Verdict::kUnknown);
}

TEST(JudgeTogether, TheSameStaysTheSame) {
  Change same = change({10.0, 10.001, 10.002}, {10.0, 10.001, 10.003});
  ASSERT_EQ(same.verdict, Verdict::kSame);
  Change* const family[] = {&same};
  judge_together(family, {});
  EXPECT_EQ(same.verdict, Verdict::kSame);
}

Verdict judged(double low, double high, double tolerance = 1) {
  // With a baseline of 100, a longer time is a negative percentage.
  return judge({.low = low, .high = high}, {.low = -high, .high = -low},
               {.tolerance_percent = tolerance}, Better::kLower);
}

TEST(Judge, TheSameIsAnIntervalWithinTheTolerance) {
  EXPECT_EQ(judged(-0.9, 0.9), Verdict::kSame);
  EXPECT_EQ(judged(-1, 1), Verdict::kSame);  // the ends are included
  EXPECT_EQ(judged(-1.001, 1), Verdict::kUnclear);
  EXPECT_EQ(judged(-1, 1.001), Verdict::kUnclear);
  EXPECT_EQ(judged(-1.5, 1.5, 2), Verdict::kSame);
  EXPECT_EQ(judged(0, 0, 0), Verdict::kSame);
}

TEST(Judge, ARealDifferenceWithinTheToleranceIsTheSame) {
  EXPECT_EQ(judged(0.2, 0.9), Verdict::kSame);
  EXPECT_EQ(judged(0.2, 1.0), Verdict::kSame);
  EXPECT_EQ(judged(0.2, 1.1), Verdict::kWorse);
  EXPECT_EQ(judged(-1.1, -0.2), Verdict::kBetter);
  EXPECT_EQ(judged(0.2, 0.9, 0), Verdict::kWorse);
}

TEST(Judge, UnclearHoldsZeroAndIsWider) {
  EXPECT_EQ(judged(-45, 3), Verdict::kUnclear);
  EXPECT_EQ(judged(0, 21), Verdict::kUnclear);  // the ends contain zero
  EXPECT_EQ(judged(-21, 0), Verdict::kUnclear);
  EXPECT_EQ(judged(1e-9, 21), Verdict::kWorse);
}

TEST(Judge, ABaselineOfZeroHasOnlyADirection) {
  const double nan = std::nan("");
  EXPECT_EQ(judge({.low = 1, .high = 2}, {.low = nan, .high = nan}, {}, Better::kHigher),
            Verdict::kBetter);
  EXPECT_EQ(judge({.low = -1, .high = 2}, {.low = nan, .high = nan}, {}, Better::kLower),
            Verdict::kUnclear);
}

// For equal spreads s and a difference d, the printed tables of two-sample t tests at 95 % and a
// power of 80 % give 17 a side for d = s, 6 for d = 2 s (5 by the noncentral t), and 64 for d =
// s/2.
TEST(RepetitionsNeeded, AgreesWithPrintedTables) {
  EXPECT_EQ(repetitions_needed(1, 1, 1, 0.95), 17U);
  EXPECT_EQ(repetitions_needed(1, 1, 2, 0.95), 6U);
  EXPECT_EQ(repetitions_needed(2, 2, 1, 0.95), 64U);
  EXPECT_EQ(repetitions_needed(2, 2, -1, 0.95), 64U);
}

TEST(RepetitionsNeeded, AskForMoreWhereLessIsKnown) {
  // A side without any spread halves both the variance and the degrees of freedom.
  EXPECT_EQ(repetitions_needed(1, 0, 1, 0.95), 10U);
  EXPECT_GT(*repetitions_needed(1, 1, 1, 0.99), 17U);
  EXPECT_EQ(repetitions_needed(0, 0, 1, 0.95), 2U);
}

TEST(RepetitionsNeeded, EndWhereNobodyWouldMeasure) {
  EXPECT_EQ(repetitions_needed(1, 1, 0.01, 0.95), std::nullopt);
  EXPECT_EQ(repetitions_needed(1, 1, 0, 0.95), std::nullopt);
  EXPECT_LE(*repetitions_needed(1, 1, 0.126, 0.95), kMostRepetitions);
}

TEST(Change, AnUnclearOneSaysWhatWouldSettleIt) {
  const Change wide = change({60, 62, 61}, {60, 80, 82});
  EXPECT_EQ(needed_in_words(wide, {}, "step"),
            "About 9 steps of each would tell a difference of 21.3 % apart");
  EXPECT_EQ(needed_in_words(wide, {}, "step", Length::kShort), "about 9 steps of each would tell");
  // The observed difference is below the tolerance, so the tolerance counts.
  const Change level = change({100, 104, 96}, {100, 103.5, 97});
  EXPECT_EQ(needed_in_words(level, {.tolerance_percent = 5}, "run"),
            "About 10 runs of each would tell a difference of 5 % apart");
  EXPECT_EQ(needed_in_words(level, {.tolerance_percent = 0.1}, "run"),
            "More than 1000 runs of each would tell a difference of 0.167 % apart");
  EXPECT_EQ(needed_in_words(change({1, 1.1}, {2, 2.1}), {}, "run"), "");
}

// It is about 6 / t^4 with 4 degrees of freedom, which 1 - (1 - p) would round to nothing.
TEST(Change, ATinyProbabilityIsNotZero) {
  const Change certain = change({10, 10.00001, 9.99999}, {20, 20.00001, 19.99999});
  EXPECT_GT(certain.p, 1e-25);
  EXPECT_LT(certain.p, 1e-22);
}

}  // namespace
}  // namespace assay::trace
