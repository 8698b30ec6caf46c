#include "plan/search/deployments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::plan {
namespace {

using ::testing::HasSubstr;

constexpr Worker kNarrow{.tp = 2, .moe_tp = 2};
constexpr Worker kWide{.tp = 8, .moe_tp = 8};
constexpr Worker kStaged{.tp = 2, .moe_tp = 2, .pp = 2};

// The engine refuses this at its first request (NixlConnector: "Decode TP cannot be smaller than
// prefill TP").
TEST(CheckPools, VllmsWidePrefillCannotFeedANarrowDecode) {
  EXPECT_TRUE(check_pools(Engine::kVllm, kNarrow, kWide).ok());
  const core::Status status = check_pools(Engine::kVllm, kWide, kNarrow);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("tp 8 cannot compute prompts for tp 2"));
}

// Its ranks find each other's caches by their tp alone.
TEST(CheckPools, VllmsStagesSendNoCaches) {
  EXPECT_FALSE(check_pools(Engine::kVllm, kNarrow, kStaged).ok());
  EXPECT_FALSE(check_pools(Engine::kVllm, kStaged, kNarrow).ok());
}

// The engine refuses other stages to decode than one or those of the prompts.
TEST(CheckPools, SglangsStagesThatDecodeFollowThoseOfPrompts) {
  EXPECT_FALSE(check_pools(Engine::kSglang, kNarrow, kStaged).ok());
  EXPECT_TRUE(check_pools(Engine::kSglang, kStaged, kStaged).ok());
  EXPECT_TRUE(check_pools(Engine::kSglang, kStaged, kNarrow).ok());
}

TEST(CheckPools, SglangCountsTheGpusOfAllGroups) {
  constexpr Worker kGroups{.tp = 2, .dp = 4, .moe_tp = 1, .moe_ep = 8};
  constexpr Worker kStagedWide{.tp = 4, .moe_tp = 4, .pp = 2};
  constexpr Worker kThree{.tp = 3, .moe_tp = 3};
  EXPECT_TRUE(check_pools(Engine::kSglang, kStagedWide, kGroups).ok());
  EXPECT_FALSE(check_pools(Engine::kSglang, kThree, kNarrow).ok());
}

TEST(CheckPools, TensorRtLlmSendsToAnyWidth) {
  EXPECT_TRUE(check_pools(Engine::kTrtllm, kWide, kStaged).ok());
}

}  // namespace
}  // namespace assay::plan
