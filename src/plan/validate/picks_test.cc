#include "plan/validate/picks.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::plan {
namespace {

struct Times {
  std::int64_t concurrency;
  double predicted_ms;  // TPOT
  double measured_ms;
};

// Deployments of one group that differ in their load.
class Picks : public testing::Test {
 protected:
  void add(const std::vector<Times>& times) {
    for (const Times& one : times) {
      MeasuredDeployment& row = measured_.emplace_back();
      row.engine = "vllm";
      row.prompt_tokens = 1000;
      row.output_tokens = 1001;
      row.concurrency = one.concurrency;
      row.ttft_ms = 100;
      row.tpot_ms = one.measured_ms;
      predicted_.push_back({.ttft_ms = 100, .tpot_ms = one.predicted_ms});
      // An interval from the prediction to 1.21 times it: the middle is 1.1 times it.
      predicted_.back().bars.tpot = {.low = 1, .high = 1.21};
    }
    for (std::size_t i = 0; i < measured_.size(); ++i)
      predicted_[i].measured = &measured_[i];
  }

  PickCounts judge(const PickRule& rule) { return sum_of(judge_picks(predicted_, rule)); }

  std::vector<MeasuredDeployment> measured_;
  std::vector<Prediction> predicted_;
};

TEST_F(Picks, AreTheFastestThatKeepTheLimitAsPredicted) {
  add({{1, 5, 5}, {2, 6, 6}, {4, 9, 9.4}, {8, 12, 12}});
  const PickCounts found = judge({.tpot_limits_ms = {9}});
  EXPECT_EQ(found.decisions, 1);
  EXPECT_EQ(found.broken, 0) << "9.4 is within 5 % of 9";
  EXPECT_EQ(found.missed, 0);
  ASSERT_EQ(found.lost.size(), 1U);
  EXPECT_EQ(found.lost[0], 0) << "it is faster than the best that keeps the limit";
}

TEST_F(Picks, BreakALimitByMoreThanATwentieth) {
  add({{1, 5, 5}, {2, 6, 6}, {4, 9, 10.8}, {8, 12, 12}});
  const PickCounts found = judge({.tpot_limits_ms = {9}});
  EXPECT_EQ(found.broken, 1);
  ASSERT_EQ(found.overshoots.size(), 1U);
  EXPECT_NEAR(found.overshoots[0], 0.2, 1e-12);
  EXPECT_TRUE(found.lost.empty());
}

TEST_F(Picks, AChanceLeavesRoomAndCostsThroughput) {
  add({{1, 5, 5}, {2, 6, 6}, {4, 8.5, 8.9}, {8, 12, 12}});
  const PickCounts found = judge({.confidence = 0.5, .tpot_limits_ms = {9}});
  EXPECT_EQ(found.broken, 0);
  ASSERT_EQ(found.lost.size(), 1U);
  // 2 requests of 6.1 s instead of 4 of 9 s.
  EXPECT_NEAR(found.lost[0], 1 - 2 / 6.1 / (4 / 9.0), 1e-12);
}

TEST_F(Picks, NoneWhereOneKeepsTheLimitIsMissedAndWhereNoneDoesIsNoDecision) {
  add({{1, 8, 5}, {2, 9, 6}, {4, 10, 9}, {8, 12, 12}});
  EXPECT_EQ(judge({.tpot_limits_ms = {7}}).missed, 1);
  EXPECT_EQ(judge({.tpot_limits_ms = {4}}).decisions, 0);
  EXPECT_EQ(judge({}).decisions, 4) << "each measured TPOT is a limit";
}

TEST_F(Picks, ThreeCandidatesAreNoGroup) {
  add({{1, 5, 5}, {2, 6, 6}, {4, 9, 9}});
  EXPECT_EQ(judge({.tpot_limits_ms = {9}}).decisions, 0);
}

TEST_F(Picks, RefusedAndCalibratingRowsAreNoCandidates) {
  add({{1, 5, 5}, {2, 6, 6}, {4, 9, 9}, {8, 12, 12}, {16, 20, 20}});
  predicted_[4].refused = "no rows";
  EXPECT_EQ(judge({.tpot_limits_ms = {9}}).decisions, 1);
  predicted_[3].calibrates = true;
  EXPECT_EQ(judge({.tpot_limits_ms = {9}}).decisions, 0);
}

}  // namespace
}  // namespace assay::plan
