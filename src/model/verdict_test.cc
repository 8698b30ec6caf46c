#include "model/verdict.h"

#include <gtest/gtest.h>

namespace assay::model {
namespace {

TEST(Verdict, SlowStepsContradictTheSteadyOnes) {
  EXPECT_EQ(slow_steps(Verdict::kBetter, Verdict::kWorse), SlowSteps::kOfTest);
  EXPECT_EQ(slow_steps(Verdict::kSame, Verdict::kWorse), SlowSteps::kOfTest);
  EXPECT_EQ(slow_steps(Verdict::kSame, Verdict::kBetter), SlowSteps::kOfBaseline);
  EXPECT_EQ(slow_steps(Verdict::kWorse, Verdict::kBetter), SlowSteps::kOfBaseline);
  EXPECT_EQ(slow_steps(Verdict::kWorse, Verdict::kWorse), SlowSteps::kNone);
  EXPECT_EQ(slow_steps(Verdict::kBetter, Verdict::kUnclear), SlowSteps::kNone);
  EXPECT_EQ(slow_steps(Verdict::kUnclear, Verdict::kDifferent), SlowSteps::kNone);
}

TEST(Verdict, TheSameOfOneRunIsTheSame) {
  EXPECT_EQ(verdict_of(Cell(std::string(kSameInTheseRuns))), Verdict::kSame);
  EXPECT_STREQ(verdict_word(Verdict::kSame), "Same");
}

}  // namespace
}  // namespace assay::model
