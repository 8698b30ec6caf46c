#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using ::testing::ElementsAre;

Limits small_trtllm(std::int64_t max_tokens, std::int64_t kv_tokens) {
  Limits limits = policy_of(Engine::kTrtllm).defaults();
  limits.max_tokens = max_tokens;
  limits.kv_tokens = kv_tokens;
  limits.kv_block_tokens = 4;
  limits.graph_batches = {};
  limits.overlap = Limits::Overlap::kNone;
  return limits;
}

TEST(Trtllm, RunsAPromptWholeOrLeavesItWaiting) {
  const Workload workload = testing::requests_of({{.prompt_tokens = 6, .output_tokens = 3},
                                                  {.prompt_tokens = 6, .output_tokens = 2},
                                                  {.prompt_tokens = 1, .output_tokens = 1}});
  // The third would fit the first step, but it came behind the second.
  EXPECT_THAT(testing::steps_of(Engine::kTrtllm, small_trtllm(10, 100), workload),
              ElementsAre("1x6@0", "1x6@0 1x1@0 d1", "d2"));
}

TEST(Trtllm, CutsPromptsAtBlocks) {
  Limits limits = small_trtllm(11, 100);
  limits.prompts = Limits::Prompts::kChunked;
  const Workload workload = testing::requests_of(
      {{.prompt_tokens = 6, .output_tokens = 2}, {.prompt_tokens = 6, .output_tokens = 1}});
  EXPECT_THAT(testing::steps_of(Engine::kTrtllm, limits, workload),
              ElementsAre("1x6@0 1x4@0", "1x2@4 d1"));
}

// The cache has eight blocks; a request needs two for its prompt and four until it ends.
TEST(Trtllm, ReservesWhatARequestMayNeed) {
  const Workload workload = testing::equal_requests(3, 8, 8, 3);
  const std::vector<std::string> steps =
      testing::steps_of(Engine::kTrtllm, small_trtllm(100, 32), workload);
  ASSERT_EQ(steps.size(), 16U);
  EXPECT_EQ(steps[0], "2x8@0");
  EXPECT_EQ(steps[7], "d2");
  EXPECT_EQ(steps[8], "1x8@0");
  EXPECT_EQ(steps[15], "d1");
}

TEST(Trtllm, ThrowsTheNewestOutForUtilization) {
  Limits limits = small_trtllm(100, 32);
  limits.capacity = Limits::Capacity::kMaxUtilization;
  const testing::LinearCost cost(1);
  const Workload workload = testing::equal_requests(3, 8, 8, 3);
  const Policy& policy = policy_of(Engine::kTrtllm);
  const auto eager = simulate(cost, policy, limits, workload).value();
  const auto reserved = simulate(cost, policy, small_trtllm(100, 32), workload).value();
  EXPECT_GT(eager.preemptions, 0);
  EXPECT_EQ(reserved.preemptions, 0);
  // It may be better or worse, but not for the first token of the third request.
  EXPECT_LT(eager.ttft_ms.p99, reserved.ttft_ms.p99);
}

// Without overlap the third request takes the place of the first in the step behind its end; with
// it the host does not know yet that there is one.
TEST(Trtllm, KnowsOneStepLateWhatEnded) {
  const Workload workload = testing::requests_of({{.prompt_tokens = 1, .output_tokens = 2},
                                                  {.prompt_tokens = 1, .output_tokens = 5},
                                                  {.prompt_tokens = 1, .output_tokens = 2}});
  Limits limits = small_trtllm(100, 100);
  limits.max_batch = 2;
  EXPECT_THAT(testing::steps_of(Engine::kTrtllm, limits, workload),
              ElementsAre("2x1@0", "d2", "1x1@0 d1", "d2", "d1"));
  limits.overlap = Limits::Overlap::kOneStep;
  EXPECT_THAT(testing::steps_of(Engine::kTrtllm, limits, workload),
              ElementsAre("2x1@0", "d2", "d1", "1x1@0 d1", "d2"));
}

TEST(Trtllm, NeedsChunksForAPromptLongerThanAStep) {
  const Workload workload = testing::equal_requests(1, 20, 2, 1);
  EXPECT_THAT(
      testing::steps_of(Engine::kTrtllm, small_trtllm(10, 100), workload),
      ElementsAre("request 0 has a prompt of 20 tokens, but a step has at most 10 and prompts are "
                  "not cut: allow more tokens, or chunks"));
}

}  // namespace
}  // namespace assay::plan
