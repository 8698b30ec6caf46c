#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

Limits small_sglang(std::int64_t max_tokens, std::int64_t kv_tokens) {
  Limits limits = policy_of(Engine::kSglang).defaults();
  limits.max_tokens = max_tokens;
  limits.kv_tokens = kv_tokens;
  limits.graph_batches = {};
  limits.overlap = Limits::Overlap::kNone;
  return limits;
}

TEST(Sglang, StopsDecodingForPrompts) {
  const Workload workload =
      testing::requests_of({{.prompt_tokens = 5, .output_tokens = 3},
                            {.prompt_tokens = 6, .output_tokens = 3},
                            {.arrival_ms = 2.5, .prompt_tokens = 2, .output_tokens = 1}});
  EXPECT_THAT(testing::steps_of(Engine::kSglang, small_sglang(8, 100), workload),
              ElementsAre("1x5@0 1x3@0", "1x3@3", "d2", "1x2@0", "d2"));
}

TEST(Sglang, ComputesOnceMoreWhatEndedUnseen) {
  const Workload workload = testing::requests_of(
      {{.prompt_tokens = 2, .output_tokens = 2}, {.prompt_tokens = 2, .output_tokens = 4}});
  Limits limits = small_sglang(8, 100);
  EXPECT_THAT(testing::steps_of(Engine::kSglang, limits, workload),
              ElementsAre("2x2@0", "d2", "d1", "d1"));
  limits.overlap = Limits::Overlap::kOneStep;
  EXPECT_THAT(testing::steps_of(Engine::kSglang, limits, workload),
              ElementsAre("2x2@0", "d2", "d2", "d1"));
}

// A prompt begins where it and its whole output fit beside what running requests are expected to
// fill: 6 + 10 of 24 tokens do, and once more 16 do not. It is not asked again before one leaves.
TEST(Sglang, LeavesRoomForTheOutputOfWhatBegins) {
  const Workload workload = testing::equal_requests(2, 6, 10, 2);
  const auto steps = testing::steps_of(Engine::kSglang, small_sglang(100, 24), workload);
  ASSERT_EQ(steps.size(), 20U);
  EXPECT_EQ(steps[0], "1x6@0");
  EXPECT_EQ(steps[9], "d1");
  EXPECT_EQ(steps[10], "1x6@0");
}

// The second request begins because seven tenths of what the first may still write are counted;
// both write everything, and the second, which has written less, gives up its place. Of its tokens
// the prompt is still there when it comes back.
TEST(Sglang, RetractsTheOneWithTheLeastOutput) {
  const Workload workload =
      testing::requests_of({{.prompt_tokens = 4, .output_tokens = 100},
                            {.arrival_ms = 1.5, .prompt_tokens = 4, .output_tokens = 100}});
  const testing::WritingCost cost;
  const auto metrics =
      simulate(cost, policy_of(Engine::kSglang), small_sglang(100, 190), workload).value();
  EXPECT_EQ(metrics.preemptions, 1);
  EXPECT_LE(metrics.peak_kv_tokens, 190);
  // Two blocks are missing when 4 + 92 and 4 + 90 tokens are in the cache: the first has generated
  // 93, the second 91.
  EXPECT_THAT(cost.steps, Contains("1x91@4"));
}

// Seven tenths of the 2999 tokens that the first may still write leave 1897 of the cache; the
// second needs 2004. 600 steps later a tenth of 2399 is expected, and 3161 are left.
TEST(Sglang, ExpectsLessOutputTheLongerItDecodes) {
  const auto steps_with_arrival = [](double arrival_ms) {
    const Workload workload = testing::requests_of(
        {{.prompt_tokens = 4, .output_tokens = 3000},
         {.arrival_ms = arrival_ms, .prompt_tokens = 4, .output_tokens = 2000}});
    return testing::steps_of(Engine::kSglang, small_sglang(100, 4000), workload);
  };
  EXPECT_EQ(steps_with_arrival(1.5).at(2), "d1");
  EXPECT_EQ(steps_with_arrival(601.5).at(602), "1x4@0");
}

TEST(Sglang, CountsWhatItMayTakeOfPrompts) {
  Limits limits = small_sglang(100, 1000);
  limits.max_prefill_tokens = 10;
  EXPECT_THAT(testing::steps_of(Engine::kSglang, limits, testing::equal_requests(3, 6, 1, 3)),
              ElementsAre("1x6@0", "1x6@0", "1x6@0"));
  limits.max_prefill_tokens = 13;
  EXPECT_THAT(testing::steps_of(Engine::kSglang, limits, testing::equal_requests(3, 6, 1, 3)),
              ElementsAre("2x6@0", "1x6@0"));
}

}  // namespace
}  // namespace assay::plan
