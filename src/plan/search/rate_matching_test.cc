#include "plan/search/rate_matching.h"

#include <gtest/gtest.h>

namespace assay::plan {
namespace {

// An instance that decodes 7 requests a second on 2 GPUs needs three of 3 a second on one.
TEST(RateMatching, PromptsKeepUp) {
  const auto ratio = best_ratio({1, 3}, {2, 7}, 5);
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->prefill, 3);
  EXPECT_EQ(ratio->decode, 1);
  EXPECT_EQ(ratio->copies, 1);
  EXPECT_DOUBLE_EQ(ratio->requests_per_s, 7);
  EXPECT_FALSE(best_ratio({1, 3}, {2, 7}, 4));
  EXPECT_EQ(least_copy_gpus({1, 3}, {2, 7}), 5);
}

// On 13 GPUs two copies of 3 + 1 instances serve 14 a second, one of 7 + 3 instances 21.
TEST(RateMatching, TakesTheRatioThatServesMostOnAllGpus) {
  const auto of_13 = best_ratio({1, 3}, {2, 7}, 13);
  ASSERT_TRUE(of_13);
  EXPECT_EQ(of_13->prefill, 7);
  EXPECT_EQ(of_13->decode, 3);
  EXPECT_EQ(of_13->copies, 1);
}

// One copy of 2 x 7 a second on 5 + 4 of 10 GPUs serves no more than two copies of 3 + 2 GPUs.
TEST(RateMatching, TakesSmallCopiesWhereLargeOnesServeNoMore) {
  const auto of_10 = best_ratio({1, 3}, {2, 7}, 10);
  ASSERT_TRUE(of_10);
  EXPECT_EQ(of_10->decode, 1);
  EXPECT_EQ(of_10->copies, 2);
}

// The 7 + 3 instances on 13 GPUs are one copy of 13.
TEST(RateMatching, KeepsCopiesWithinTheirMostGpus) {
  const auto of_13 = best_ratio({1, 3}, {2, 7}, 13, 12);
  ASSERT_TRUE(of_13);
  EXPECT_EQ(of_13->decode, 1);
  EXPECT_EQ(of_13->copies, 2);
}

TEST(RateMatching, EqualRatesNeedOneEach) {
  const auto ratio = best_ratio({1, 0.1 + 0.2}, {1, 0.3}, 2);
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->prefill, 1);
}

// A server of 100 ms that is half busy keeps Poisson arrivals waiting for 50 ms in the mean; two
// that are served in turn, half of that. 5 a second that stay for 50 + 100 + 850 ms are 5 in
// flight.
TEST(RateMatching, PromptsWait) {
  const PoolTimes times{.prompt_ms = 100, .sent_ms = 10, .answer_ms = 840};
  const MatchedRate one = matched_rate({1, 10}, {.prefill = 1, .requests_per_s = 99}, times, 5);
  EXPECT_NEAR(one.requests_per_s, 5, 1e-4);
  EXPECT_NEAR(one.ttft_ms, 160, 1e-2);
  const MatchedRate two =
      matched_rate({1, 10}, {.prefill = 2, .requests_per_s = 99}, times, 10 * 0.975);
  EXPECT_NEAR(two.requests_per_s, 10, 1e-4);
  EXPECT_NEAR(two.ttft_ms, 135, 1e-2);
}

// More requests in flight than both pools can have under way wait for prompts.
TEST(RateMatching, NeitherPoolIsExceeded) {
  const PoolTimes times{.prompt_ms = 100, .answer_ms = 1000};
  EXPECT_NEAR(
      matched_rate({1, 10}, {.prefill = 1, .requests_per_s = 99}, times, 1000).requests_per_s, 10,
      0.01);
  EXPECT_NEAR(
      matched_rate({1, 10}, {.prefill = 1, .requests_per_s = 4}, times, 1000).requests_per_s, 4,
      0.01);
}

}  // namespace
}  // namespace assay::plan
