#include "plan/closed_form.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using testing::LinearCost;

TEST(ClosedForm, MixesStepsWithAndWithoutPrompts) {
  // 10 requests stay for 100 steps each, so that every tenth step has a prompt of 1000 tokens.
  const SteadyLatencies found = steady_latencies(
      LinearCost(10, 0.02), {.concurrency = 10, .prompt_tokens = 1000, .output_tokens = 100});
  EXPECT_DOUBLE_EQ(found.mixed_share, 0.1);
  EXPECT_DOUBLE_EQ(found.tpot_ms, 10 + 0.1 * 20);
  EXPECT_DOUBLE_EQ(found.requests_per_s, 1000 * 10 / (100 * 12.0));
  EXPECT_DOUBLE_EQ(found.ttft_ms, 6 + 30);
}

TEST(ClosedForm, PaysForEveryPromptOfAStep) {
  // 300 requests stay for 100 steps: three prompts a step.
  const SteadyLatencies found = steady_latencies(
      LinearCost(10, 0.02), {.concurrency = 300, .prompt_tokens = 1000, .output_tokens = 100});
  EXPECT_NEAR(found.tpot_ms, 10 + 3 * 20, 0.01);
}

TEST(ClosedForm, PromptsThatDoNotFitAStepWait) {
  // Whole prompts, one a step: 99 requests decode, however many wait.
  const SteadyLoad load{.concurrency = 500,
                        .prompt_tokens = 1000,
                        .output_tokens = 100,
                        .token_budget = 1999,
                        .prompts = PromptSteps::kWholeBeside};
  const SteadyLatencies found = steady_latencies(LinearCost(10, 0.02), load);
  EXPECT_DOUBLE_EQ(found.tpot_ms, 30);
  EXPECT_DOUBLE_EQ(found.requests_per_s, 1000 / 30.0);
  EXPECT_NEAR(found.ttft_ms, 400 * 30 + 45, 1);

  SteadyLoad cut = load;
  cut.prompts = PromptSteps::kCutBeside;
  const SteadyLatencies of_cut = steady_latencies(LinearCost(10, 0.02), cut);
  // 1999 tokens a step are shared by prompts and by requests that decode.
  EXPECT_NEAR(of_cut.requests_per_s, 1999 / 1099.0 / of_cut.tpot_ms * 1000, 0.1);
}

TEST(ClosedForm, PromptsApartInterruptDecoding) {
  const SteadyLatencies found =
      steady_latencies(LinearCost(10, 0.02), {.concurrency = 1,
                                              .prompt_tokens = 1000,
                                              .output_tokens = 100,
                                              .prompts = PromptSteps::kApart});
  EXPECT_NEAR(found.mixed_step_ms, 30, 0.2);
  EXPECT_NEAR(found.tpot_ms, 10 + 0.01 * 30, 0.01);
}

TEST(ClosedForm, GroupsWaitForTheirSlowest) {
  SteadyLoad load{.concurrency = 10,
                  .groups = 8,
                  .prompt_tokens = 1000,
                  .output_tokens = 100,
                  .token_budget = 1500};
  const SteadyLatencies found = steady_latencies(LinearCost(10, 0.02), load);
  EXPECT_NEAR(found.mixed_share, 1 - std::pow(0.9, 8), 1e-9);
  EXPECT_NEAR(found.tpot_ms, 10 + found.mixed_share * 20, 1e-9);
}

}  // namespace
}  // namespace assay::plan
