#include "collect/run/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::collect {
namespace {

using store::CaseOutcome;
using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

Plan plan_of_operators(const std::vector<std::string>& operators) {
  Plan plan;
  for (const std::string& name : operators)
    plan.cases.push_back({.operator_name = name, .id = name, .json = "{}"});
  return plan;
}

store::StoredCase outcome(const std::string& name,
                          CaseOutcome became,
                          const std::string& reason = "") {
  return {.id = name, .outcome = became, .operator_name = name, .reason = reason};
}

TEST(Tally, CountsByOperatorInThePlansOrder) {
  Tally tally(plan_of_operators({"z", "z", "z", "z", "a"}));
  tally.add(outcome("z", CaseOutcome::kMeasured));
  tally.add(outcome("z", CaseOutcome::kSkipped, "no plan"));
  tally.add(outcome("z", CaseOutcome::kFailed));
  ASSERT_THAT(tally.operators(), SizeIs(2));
  const OperatorTally& first = tally.operators().front();
  EXPECT_EQ(first.name, "z");
  EXPECT_EQ(first.expected, 4);
  EXPECT_EQ(first.measured, 1);
  EXPECT_EQ(first.skipped, 1);
  EXPECT_EQ(first.failed, 1);
  EXPECT_EQ(first.missing(), 1);
  EXPECT_EQ(tally.operators().back().missing(), 1);
  EXPECT_EQ(tally.total().expected, 5);
  EXPECT_EQ(tally.total().missing(), 2);
  EXPECT_THAT(tally.failures(), SizeIs(1));
}

TEST(Tally, GathersSkipsByOperatorAndReason) {
  Tally tally(plan_of_operators({"a", "a", "a", "b"}));
  tally.add(outcome("a", CaseOutcome::kSkipped, "no FP8"));
  tally.add(outcome("a", CaseOutcome::kSkipped, "no FP8"));
  tally.add(outcome("a", CaseOutcome::kSkipped, "no plan"));
  tally.add(outcome("b", CaseOutcome::kSkipped, "no FP8"));
  EXPECT_THAT(tally.skips(),
              ElementsAre(Pair(Pair("a", "no FP8"), 2), Pair(Pair("a", "no plan"), 1),
                          Pair(Pair("b", "no FP8"), 1)));
}

TEST(Tally, OperatorsWithoutARowAreNamedUnlessTheirSkipsAreExcused) {
  Tally tally(plan_of_operators({"a", "b", "c"}));
  tally.add(outcome("b", CaseOutcome::kSkipped, "no FP8"));
  tally.add(outcome("c", CaseOutcome::kFailed));
  // No operator is measured, so that a missing row is not excused.
  EXPECT_THAT(operators_without_row(tally, Excused::kSkipped), ElementsAre("a", "b", "c"));
  tally.add(outcome("a", CaseOutcome::kMeasured));
  EXPECT_THAT(operators_without_row(tally, Excused::kSkipped), ElementsAre("c"));
  EXPECT_THAT(operators_without_row(tally, Excused::kNone), ElementsAre("b", "c"));
}

TEST(TimeUse, IsByOperatorAndOfAll) {
  const std::vector<TimeUse> uses =
      time_use({{"gemm", 10, {8, 1}}, {"moe", 20, {5}}, {"gemm", 30, {22, 2}}, {"gemm", 5, {4}}});
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(uses[0].operator_name, "gemm");
  EXPECT_EQ(uses[0].cases, 3);
  EXPECT_DOUBLE_EQ(uses[0].wall_seconds, 0.045);
  EXPECT_DOUBLE_EQ(uses[0].kernel_seconds, 0.034);
  EXPECT_DOUBLE_EQ(uses[0].prepare_seconds, 0.003);
  EXPECT_DOUBLE_EQ(uses[0].overhead_median_ms, 2);
  EXPECT_DOUBLE_EQ(uses[1].share(), 0.25);
  EXPECT_EQ(uses[2].operator_name, "all");
  EXPECT_DOUBLE_EQ(uses[2].wall_seconds, 0.065);
  EXPECT_EQ(uses[2].cases, 4);
}

TEST(TimeUse, OfOneOperatorHasNoSum) {
  EXPECT_EQ(time_use({{"gemm", 10, {8}}}).size(), 1U);
  EXPECT_TRUE(time_use({}).empty());
}

}  // namespace

}  // namespace assay::collect
