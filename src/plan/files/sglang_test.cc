#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/files/engine_files.h"
#include "plan/files/files_test_util.h"

namespace assay::plan {
namespace {

using files_testing::drafting_of;
using files_testing::planned_of;
using files_testing::pools_of;
using files_testing::values_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// SGLang divides what it is told by its groups.
TEST(FilesOfSglang, LimitsAreThoseOfAllGroups) {
  PlannedDeployment planned = planned_of(Engine::kSglang);
  planned.has_experts = true;
  planned.worker = {.tp = 2, .dp = 4, .moe_tp = 1, .moe_ep = 8};
  const Words words = files_of(Engine::kSglang).serve(planned, "");
  EXPECT_THAT(values_of(words, "--tp-size"), ElementsAre("8"));
  EXPECT_THAT(values_of(words, "--dp-size"), ElementsAre("4"));
  EXPECT_THAT(values_of(words, "--max-running-requests"), ElementsAre("80"));
  EXPECT_THAT(values_of(words, "--chunked-prefill-size"), ElementsAre("32768"));
  EXPECT_THAT(values_of(words, "--cuda-graph-bs"),
              ElementsAre("1", "2", "4", "8", "12", "16", "20"));
}

TEST(FilesOfSglang, LimitsAreThoseOfAllStages) {
  PlannedDeployment planned = planned_of(Engine::kSglang);
  planned.worker.pp = 2;
  const Words words = files_of(Engine::kSglang).serve(planned, "");
  EXPECT_THAT(values_of(words, "--pp-size"), ElementsAre("2"));
  EXPECT_THAT(values_of(words, "--tp-size"), ElementsAre("4"));
  EXPECT_THAT(values_of(words, "--max-running-requests"), ElementsAre("40"));
}

TEST(FilesOfSglang, PoolsSendCaches) {
  const EngineFiles& engine = files_of(Engine::kSglang);
  for (const PlannedDeployment& pool : pools_of(Engine::kSglang).pools) {
    for (const Words& words : {engine.serve(pool, ""), engine.dynamo_options(pool, "")})
      EXPECT_THAT(values_of(words, "--disaggregation-mode"), ElementsAre(name_of(pool.role)));
  }
  EXPECT_THAT(engine.serve(planned_of(Engine::kSglang), ""),
              Not(Contains(HasSubstr("disaggregation"))));
}

// ServerArgs refuses an instance of groups that decodes without the last of these ("Prefill round
// robin balance is required when dp size > 1"), and takes the widths of the other pool for its own
// unless it is told them.
TEST(FilesOfSglang, PoolsKnowEachOthersWidths) {
  PlannedDeployment planned = planned_of(Engine::kSglang);
  split(planned, 1, {.tp = 4, .dp = 1, .moe_tp = 8, .moe_ep = 1, .pp = 2}, 1,
        {.tp = 2, .dp = 4, .moe_tp = 1, .moe_ep = 8});
  const EngineFiles& engine = files_of(Engine::kSglang);
  const Words prefill = engine.serve(planned.pools.front(), "");
  EXPECT_THAT(values_of(prefill, "--disaggregation-decode-tp"), ElementsAre("8"));
  EXPECT_THAT(values_of(prefill, "--disaggregation-decode-dp"), ElementsAre("4"));
  EXPECT_THAT(prefill, Not(Contains("--prefill-round-robin-balance")));
  const Words decode = engine.serve(planned.pools.back(), "");
  EXPECT_THAT(values_of(decode, "--disaggregation-prefill-pp"), ElementsAre("2"));
  EXPECT_THAT(decode, Contains("--prefill-round-robin-balance"));
  EXPECT_THAT(decode, Not(Contains("--disaggregation-decode-tp")));
}

// Instances ask each other for their widths, and the options are gone.
TEST(FilesOfSglang, PoolsOfLaterVersionsAreNotTold) {
  PlannedDeployment planned = planned_of(Engine::kSglang);
  planned.engine_version = "0.5.14";
  split(planned, 1, {.tp = 4, .dp = 1, .moe_tp = 8, .moe_ep = 1, .pp = 2}, 1,
        {.tp = 2, .dp = 4, .moe_tp = 1, .moe_ep = 8});
  for (const PlannedDeployment& pool : planned.pools) {
    const Words words = files_of(Engine::kSglang).serve(pool, "");
    EXPECT_THAT(values_of(words, "--disaggregation-mode"), ElementsAre(name_of(pool.role)));
    EXPECT_THAT(words, Not(Contains(HasSubstr("--disaggregation-decode"))));
    EXPECT_THAT(words, Not(Contains(HasSubstr("--disaggregation-prefill"))));
    EXPECT_THAT(words, Not(Contains("--prefill-round-robin-balance")));
  }
}

// Without the variable the engine runs no step ahead where it drafts.
TEST(FilesOfSglang, DraftsAreToldToBothPools) {
  const EngineFiles& engine = files_of(Engine::kSglang);
  const PlannedDeployment plain = planned_of(Engine::kSglang);
  EXPECT_THAT(engine.serve(plain, ""), Not(Contains(HasSubstr("speculative"))));
  EXPECT_TRUE(variables_of(plain).empty());
  for (PlannedDeployment one : drafting_of(Engine::kSglang)) {
    const Words words = engine.serve(one, "");
    EXPECT_THAT(values_of(words, "--speculative-algorithm"), ElementsAre("EAGLE"));
    EXPECT_THAT(values_of(words, "--speculative-num-steps"), ElementsAre("3"));
    EXPECT_THAT(values_of(words, "--speculative-eagle-topk"), ElementsAre("1"));
    EXPECT_THAT(values_of(words, "--speculative-num-draft-tokens"), ElementsAre("4"));
    one.limits.overlap = Limits::Overlap::kOneStep;
    EXPECT_EQ(variables_of(one).at("SGLANG_ENABLE_SPEC_V2"), "1");
    one.limits.overlap = Limits::Overlap::kNone;
    EXPECT_TRUE(variables_of(one).empty());
  }
}

TEST(FilesOfSglang, WindowsHaveTheTokensThatWerePriced) {
  PlannedDeployment planned = planned_of(Engine::kSglang);
  const auto ratio = [&] {
    return values_of(files_of(Engine::kSglang).serve(planned, ""), "--swa-full-tokens-ratio");
  };
  EXPECT_THAT(ratio(), testing::IsEmpty());
  planned.window_ratio = 0.0461;
  EXPECT_THAT(ratio(), testing::ElementsAre("0.047"));
}

}  // namespace
}  // namespace assay::plan
