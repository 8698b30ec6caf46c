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
}

// 3 + 1 instances leave 2 of 9 / s idle; 7 + 3 instances are matched exactly and are 13 GPUs.
TEST(RateMatching, TakesTheRatioThatServesMostOnAllGpus) {
  const auto of_13 = best_ratio({1, 3}, {2, 7}, 13);
  ASSERT_TRUE(of_13);
  EXPECT_EQ(of_13->prefill, 7);
  EXPECT_EQ(of_13->decode, 3);
  // Two copies of 5 GPUs serve 14 a second, one of 2 x 7 on 5 + 4 GPUs the same.
  const auto of_10 = best_ratio({1, 3}, {2, 7}, 10);
  ASSERT_TRUE(of_10);
  EXPECT_EQ(of_10->decode, 1);
  EXPECT_EQ(of_10->copies, 2);
}

TEST(RateMatching, EqualRatesNeedOneEach) {
  const auto ratio = best_ratio({1, 0.1 + 0.2}, {1, 0.3}, 2);
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->prefill, 1);
}

// A server of 100 ms that is half busy keeps Poisson arrivals waiting for 50 ms in the mean; two
// that are served in turn, half of that.
TEST(RateMatching, PromptsWait) {
  EXPECT_DOUBLE_EQ(waiting_ms({1, 10}, {.prefill = 1, .requests_per_s = 5}, 100, 1000), 50);
  EXPECT_DOUBLE_EQ(waiting_ms({1, 10}, {.prefill = 2, .requests_per_s = 10}, 100, 1000), 25);
  EXPECT_DOUBLE_EQ(waiting_ms({1, 10}, {.prefill = 1, .requests_per_s = 9.9}, 100, 1000), 1000);
  EXPECT_DOUBLE_EQ(waiting_ms({1, 10}, {.prefill = 1, .requests_per_s = 10}, 100, 1000), 1000);
}

}  // namespace
}  // namespace assay::plan
