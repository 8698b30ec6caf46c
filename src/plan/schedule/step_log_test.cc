#include "plan/schedule/step_log.h"

#include <gtest/gtest.h>

#include <array>

#include "plan/schedule/engine_instance.h"
#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

TEST(StepLog, TheMeanOfStepsThatAreAlike) {
  StepLog log;
  log.add({.decodes = 5, .decode_cached = 101}, 3);
  log.add({.decodes = 5, .decode_cached = 200}, 1);
  log.add({.decodes = 6, .decode_cached = 50}, 2);
  const std::vector<AlikeSteps> alike = log.alike();
  ASSERT_EQ(alike.size(), 2U);
  EXPECT_EQ(alike[0].decodes, 5);
  EXPECT_DOUBLE_EQ(alike[0].steps, 4);
  EXPECT_DOUBLE_EQ(alike[0].decode_cached, (3 * 101 + 200) / 4.0);
  EXPECT_TRUE(alike[0].step().chunks.empty());
  EXPECT_EQ(alike[1].decodes, 6);
}

TEST(StepLog, PromptsKeepTheirNumberAndTheirTokens) {
  StepLog log;
  const std::array<Chunks, 2> chunks = {
      Chunks{.requests = 1, .new_tokens = 1000},
      Chunks{.requests = 1, .new_tokens = 500, .cached_tokens = 64}};
  log.add({.chunks = chunks, .finished_prompts = 1, .decodes = 2, .decode_cached = 10}, 1);
  const std::vector<AlikeSteps> alike = log.alike();
  ASSERT_EQ(alike.size(), 1U);
  const Step step = alike[0].step();
  EXPECT_EQ(step.prompt_tokens(), 1500);
  EXPECT_EQ(step.finished_prompts, 1);
  EXPECT_EQ(step.chunks[0].requests, 2);
  EXPECT_EQ(step.chunks[0].cached_tokens, 32);
}

// However long a run is, it has as many kinds of steps as it has sizes.
TEST(StepLog, LargeStepsWithinAnEighthAreAlike) {
  StepLog log;
  for (std::int64_t decodes = 1; decodes <= 1024; ++decodes)
    log.add({.decodes = decodes, .decode_cached = 1}, 1);
  double requests = 0;
  double steps = 0;
  for (const AlikeSteps& one : log.alike()) {
    requests += one.steps * static_cast<double>(one.decodes);
    steps += one.steps;
  }
  EXPECT_LE(log.alike().size(), 70U);
  EXPECT_DOUBLE_EQ(steps, 1024);
  EXPECT_NEAR(requests, 1024 * 1025 / 2.0, 1024);
}

void run_to_the_end(EngineInstance& instance, const Workload& workload) {
  std::size_t ended = 0;
  while (ended < workload.requests.size()) {
    ASSERT_TRUE(instance.advance().ok());
    ended += instance.ended().size();
  }
}

// Where prices are linear, and all sizes have a class of their own, the log prices a run exactly,
// however many steps were taken at once.
TEST(StepLog, ItsPriceIsThatOfTheRun) {
  const testing::LinearCost cost(5, 0.01, 0.1, 0.001);
  Limits limits = policy_of(Engine::kVllm).defaults();
  limits.kv_tokens = 100'000;
  limits.graph_batches = {8};
  const Workload workload = testing::equal_requests(6, 300, 100, 0);
  StepLog log;
  EngineInstance instance(cost, policy_of(Engine::kVllm), limits, workload, Stepping::kManyAtOnce,
                          nullptr);
  instance.log_to(&log);
  for (std::size_t i = 0; i < workload.requests.size(); ++i)
    instance.send(i, 40.0 * static_cast<double>(i));
  run_to_the_end(instance, workload);
  double ms = 0;
  double steps = 0;
  for (const AlikeSteps& one : log.alike()) {
    ms += one.steps * cost.ms(one.step());
    steps += one.steps;
  }
  EXPECT_EQ(static_cast<std::int64_t>(steps), instance.work_done().steps);
  EXPECT_NEAR(ms, instance.work_done().computing_ms, 1e-6 * ms);
}

// One group's prompt reaches the experts of all: all steps at once tell its tokens as often as they
// were computed.
TEST(StepLog, ExpertsGetEveryTokenOnce) {
  const testing::LinearCost cost(5, 0.01, 0.1);
  Limits limits = policy_of(Engine::kTrtllm).defaults();
  limits.kv_tokens = 100'000;
  limits.groups = 4;
  limits.groups_of_experts = 4;
  const Workload workload = testing::equal_requests(8, 300, 50, 0);
  StepLog log;
  EngineInstance instance(cost, policy_of(Engine::kTrtllm), limits, workload, Stepping::kManyAtOnce,
                          nullptr);
  instance.log_to(&log);
  for (std::size_t i = 0; i < workload.requests.size(); ++i)
    instance.send(i, i < 4 ? 0 : 10.0 * static_cast<double>(i));
  double groups = 0;
  run_to_the_end(instance, workload);
  double of_experts = 0;
  double computed = 0;
  for (const AlikeSteps& one : log.alike()) {
    groups += one.steps;
    of_experts += one.steps * one.group_tokens;
    computed += one.steps * static_cast<double>(one.step().tokens());
  }
  ASSERT_GT(groups, 4.0 * 50);
  EXPECT_NEAR(of_experts, computed, 0.05 * computed);
}

}  // namespace
}  // namespace assay::plan
