#include "plan/closed_form.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using testing::LinearCost;

TEST(ClosedForm, MixesStepsWithAndWithoutPrompts) {
  // 10 requests stay for 100 steps each, so that every tenth step has a prompt of 1000 tokens.
  const SteadyLatencies found = steady_latencies(
      LinearCost(10, 0.02), {.concurrency = 10, .prompt_tokens = 1000, .output_tokens = 100});
  EXPECT_DOUBLE_EQ(found.mixed_share, 0.1);
  EXPECT_DOUBLE_EQ(found.tpot_ms, 10 + 0.09 * 20);  // a request's own prompt is not beside it
  EXPECT_DOUBLE_EQ(found.requests_per_s, 1000 * 10 / (100 * 12.0));
  EXPECT_DOUBLE_EQ(found.ttft_ms, 0.5 * found.tpot_ms + 30);
}

TEST(ClosedForm, NothingInterruptsTheOnlyRequest) {
  const SteadyLatencies found = steady_latencies(
      LinearCost(10, 0.02), {.concurrency = 1, .prompt_tokens = 1000, .output_tokens = 10});
  EXPECT_DOUBLE_EQ(found.tpot_ms, 10);
  EXPECT_NEAR(found.requests_per_s, 1000 / (30 + 9 * 10.0), 0.5);
}

// Prompts fill a step of 8192 tokens, which takes 10 + 8192 / 50 ms, unless they are never cut.
TEST(ClosedForm, AnswersOfOneTokenEndWithTheirPrompts) {
  const auto expect = [](PromptSteps prompts, std::int64_t tokens, double in_a_step) {
    SteadyLoad load{
        .concurrency = 1, .prompt_tokens = tokens, .output_tokens = 1, .prompts = prompts};
    const auto prompt_ms = static_cast<double>(tokens) / 50;
    EXPECT_NEAR(steady_latencies(LinearCost(10, 0.02), load).ttft_ms, 10 + prompt_ms, 1e-9);
    load.concurrency = 40;
    const SteadyLatencies found = steady_latencies(LinearCost(10, 0.02), load);
    EXPECT_NEAR(found.requests_per_s, 1000 * in_a_step / (10 + in_a_step * prompt_ms), 1e-9);
    EXPECT_NEAR(found.ttft_ms * found.requests_per_s, 1000.0 * 40, 1e-9);  // Little's law
  };
  for (const PromptSteps cut : {PromptSteps::kCutBeside, PromptSteps::kApart}) {
    expect(cut, 1000, 8.192);
    expect(cut, 4097, 8192 / 4097.0);
  }
  expect(PromptSteps::kWholeBeside, 1000, 8);
  expect(PromptSteps::kWholeBeside, 4097, 1);
}

TEST(ClosedForm, APromptOfMoreThanAStepIsCutEvenly) {
  const auto ttft_ms = [](std::int64_t tokens) {
    return steady_latencies(LinearCost(10, 0.02), {.concurrency = 4,
                                                   .prompt_tokens = tokens,
                                                   .output_tokens = 100,
                                                   .token_budget = 8192})
        .ttft_ms;
  };
  EXPECT_NEAR(ttft_ms(8193) - ttft_ms(8192), 10, 1);  // a step more, and a token
}

TEST(ClosedForm, NoBudgetIsTooLarge) {
  const SteadyLoad load{.concurrency = 4,
                        .prompt_tokens = 1000,
                        .output_tokens = 100,
                        .token_budget = std::numeric_limits<std::int64_t>::max()};
  EXPECT_EQ(steady_steps(load).prompt_steps, 1);
}

TEST(ClosedForm, PaysForEveryPromptOfAStep) {
  // 300 requests stay for 100 steps: three prompts a step.
  const SteadyLatencies found = steady_latencies(
      LinearCost(10, 0.02), {.concurrency = 300, .prompt_tokens = 1000, .output_tokens = 100});
  EXPECT_NEAR(found.tpot_ms, 10 + 3 * 299 / 300.0 * 20, 0.01);
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
  EXPECT_NEAR(found.tpot_ms, 10, 0.01);  // its own prompt comes before
}

TEST(ClosedForm, GroupsWaitForTheirSlowest) {
  SteadyLoad load{.concurrency = 10,
                  .groups = 8,
                  .prompt_tokens = 1000,
                  .output_tokens = 100,
                  .token_budget = 1500};
  const SteadyLatencies found = steady_latencies(LinearCost(10, 0.02), load);
  EXPECT_NEAR(found.mixed_share, 1 - std::pow(0.9, 8), 1e-9);
  const double of_others = 1 - std::pow(1 - 0.1 * 79 / 80, 8);
  EXPECT_NEAR(found.tpot_ms, 10 + of_others * 20, 1e-9);
}

// 0.01 ms for a token of a group, in the mean of those that share experts.
class ExpertsCost final : public StepCost {
 public:
  [[nodiscard]] double ms(const Step& step) const override {
    return 0.01 * (step.group_tokens > 0 ? step.group_tokens : static_cast<double>(step.tokens()));
  }
};

TEST(ClosedForm, ExpertsGetTheTokensOfAllGroups) {
  // A step of a group has 0.1 prompts and 10 requests that decode, whatever the slowest has.
  for (const PromptSteps prompts : {PromptSteps::kCutBeside, PromptSteps::kWholeBeside}) {
    for (const std::int64_t budget : {1500, 8000}) {
      const SteadyLoad load{.concurrency = 10,
                            .groups = 8,
                            .groups_of_experts = 8,
                            .prompt_tokens = 1000,
                            .output_tokens = 100,
                            .token_budget = budget,
                            .prompts = prompts};
      const SteadyLatencies found = steady_latencies(ExpertsCost(), load);
      const double of_step = 1000 * 0.1 / found.requests_per_s;
      EXPECT_NEAR(of_step, 0.01 * (10 + 0.1 * 1000), 0.03 * of_step) << budget;
    }
  }
}

}  // namespace
}  // namespace assay::plan
