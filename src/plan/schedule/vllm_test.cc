#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using ::testing::ElementsAre;

Limits small_vllm(std::int64_t max_tokens, std::int64_t kv_tokens) {
  return {.max_batch = 4, .max_tokens = max_tokens, .kv_tokens = kv_tokens, .kv_block_tokens = 4};
}

TEST(Vllm, FillsTheBudgetBehindRunningRequests) {
  const Workload workload = testing::requests_of(
      {{.prompt_tokens = 5, .output_tokens = 3}, {.prompt_tokens = 6, .output_tokens = 2}});
  EXPECT_THAT(testing::steps_of(Engine::kVllm, small_vllm(8, 100), workload),
              ElementsAre("1x5@0 1x3@0", "1x3@3 d1", "d2"));
}

TEST(Vllm, DoesNotCutAPromptWithoutChunks) {
  Limits limits = small_vllm(8, 100);
  limits.prompts = Limits::Prompts::kWhole;
  const Workload workload = testing::requests_of(
      {{.prompt_tokens = 5, .output_tokens = 2}, {.prompt_tokens = 6, .output_tokens = 1}});
  EXPECT_THAT(testing::steps_of(Engine::kVllm, limits, workload), ElementsAre("1x5@0", "1x6@0 d1"));
}

TEST(Vllm, BeginsNoMoreThanItsBatch) {
  Limits limits = small_vllm(100, 100);
  limits.max_batch = 2;
  EXPECT_THAT(testing::steps_of(Engine::kVllm, limits, testing::equal_requests(3, 4, 2, 3)),
              ElementsAre("2x4@0", "d2", "1x4@0", "d1"));
}

// The cache has four blocks of four tokens. In step 6 both need a third block: the newer gives up
// its two, of which the older takes one. When the older ends, the newer finds its first block and
// computes the five tokens behind it again.
TEST(Vllm, ThrowsTheNewestOutWhereBlocksEnd) {
  const Workload workload = testing::equal_requests(2, 4, 8, 2);
  EXPECT_THAT(testing::steps_of(Engine::kVllm, small_vllm(100, 16), workload),
              ElementsAre("2x4@0", "d2", "d2", "d2", "d2", "d1", "d1", "d1", "1x5@4", "d1", "d1"));
  const testing::LinearCost cost(1);
  const auto metrics =
      simulate(cost, policy_of(Engine::kVllm), small_vllm(100, 16), workload).value();
  EXPECT_EQ(metrics.preemptions, 1);
  EXPECT_EQ(metrics.prompt_tokens_computed, 4 + 4 + 5);
  EXPECT_EQ(metrics.peak_kv_tokens, 16);
  // The gap that its client sees: steps 6, 7, 8 and 9.
  EXPECT_DOUBLE_EQ(metrics.between_tokens_ms.mean, (13 * 1 + 4) / 14.0);
}

TEST(Vllm, ComputesEverythingAgainWithoutAPrefixCache) {
  Limits limits = small_vllm(100, 16);
  limits.prefix_cache = Limits::PrefixCache::kOff;
  const auto steps = testing::steps_of(Engine::kVllm, limits, testing::equal_requests(2, 4, 8, 2));
  EXPECT_EQ(steps.at(8), "1x9@0");
}

// A prompt begins only where it fits the cache whole, although its first chunk would fit.
TEST(Vllm, WaitsForRoomForTheWholePrompt) {
  const Workload workload = testing::requests_of(
      {{.prompt_tokens = 8, .output_tokens = 3}, {.prompt_tokens = 12, .output_tokens = 1}});
  EXPECT_THAT(testing::steps_of(Engine::kVllm, small_vllm(9, 16), workload),
              ElementsAre("1x8@0", "d1", "d1", "1x9@0", "1x3@9"));
}

// The second request finds the 8 tokens that it shares; of the third, which is no longer than what
// it shares, the last block is computed.
TEST(Vllm, FindsASharedPrefix) {
  Workload workload = testing::requests_of({{.prompt_tokens = 10, .output_tokens = 1, .pieces = 1},
                                            {.prompt_tokens = 11, .output_tokens = 1, .pieces = 1},
                                            {.prompt_tokens = 8, .output_tokens = 1, .pieces = 1}},
                                           1);
  workload.pieces = {77};
  workload.piece_tokens = 8;
  EXPECT_THAT(testing::steps_of(Engine::kVllm, small_vllm(100, 100), workload),
              ElementsAre("1x10@0", "1x3@8", "1x4@4"));
  Limits off = small_vllm(100, 100);
  off.prefix_cache = Limits::PrefixCache::kOff;
  EXPECT_THAT(testing::steps_of(Engine::kVllm, off, workload),
              ElementsAre("1x10@0", "1x11@0", "1x8@0"));
}

// The last request shares two blocks that nobody uses; another holds one of the two that are left,
// of which it needs both.
TEST(Vllm, DoesNotCountAPrefixTwice) {
  Workload workload = testing::requests_of(
      {{.prompt_tokens = 9, .output_tokens = 1, .pieces = 1},
       {.arrival_ms = 0.5, .prompt_tokens = 1, .output_tokens = 3},
       {.arrival_ms = 1.5, .prompt_tokens = 13, .output_tokens = 1, .pieces = 1}});
  workload.pieces = {77};
  workload.piece_tokens = 8;
  EXPECT_THAT(testing::steps_of(Engine::kVllm, small_vllm(100, 16), workload),
              ElementsAre("1x9@0", "1x1@0", "d1", "d1", "1x5@8"));
}

}  // namespace
}  // namespace assay::plan
