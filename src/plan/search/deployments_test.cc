#include "plan/search/deployments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/serving/family.h"

namespace assay::plan {
namespace {

using ::testing::HasSubstr;

constexpr Worker kNarrow{.tp = 2, .moe_tp = 2};
constexpr Worker kWide{.tp = 8, .moe_tp = 8};
constexpr Worker kStaged{.tp = 2, .moe_tp = 2, .pp = 2};

std::string refusal_of(const std::string& name, Engine engine, const Worker& worker) {
  const auto model = serving::read_model(name).value();
  const core::Status status = check_worker(model, engine, model.precision, worker);
  return status.ok() ? "" : status.error().message;
}

TEST(CheckWorker, ADenseModelHasNoGroups) {
  EXPECT_EQ(refusal_of("llama-3.1-8b", Engine::kVllm, kNarrow), "");
  EXPECT_EQ(refusal_of("llama-3.1-8b", Engine::kVllm, kStaged), "");
  EXPECT_THAT(refusal_of("llama-3.1-8b", Engine::kVllm, {.dp = 4, .moe_tp = 4}),
              HasSubstr("no experts for groups to share: 4 groups are as many copies"));
  EXPECT_THAT(refusal_of("llama-3.1-8b", Engine::kVllm, {.tp = 2, .moe_ep = 2}),
              HasSubstr("has no experts"));
}

TEST(CheckWorker, EnginesShareExpertsInTheirOwnWays) {
  constexpr Worker kBothWays{.tp = 8, .moe_tp = 4, .moe_ep = 2};
  constexpr Worker kWideGroups{.tp = 2, .dp = 4, .moe_tp = 1, .moe_ep = 8};
  EXPECT_THAT(refusal_of("qwen3-30b-a3b", Engine::kVllm, kBothWays),
              HasSubstr("vLLM shares either experts or their columns"));
  EXPECT_THAT(refusal_of("qwen3-30b-a3b", Engine::kTrtllm, kWideGroups),
              HasSubstr("TensorRT-LLM's groups with requests of their own have one GPU each"));
  EXPECT_EQ(refusal_of("qwen3-30b-a3b", Engine::kSglang, kWideGroups), "");
}

// Each engine asserts it where it makes the layer (LlamaAttention of vLLM and SGLang) or loads its
// weights (duplicate_kv_weight of TensorRT-LLM).
TEST(CheckWorker, NoEngineSharesHeadsOfKeysUnevenly) {
  auto model = serving::read_model("llama-3.1-8b").value();
  auto& attention = std::get<serving::Attention>(model.layers.front().layer.mixer);
  attention.heads = 40;
  attention.kv_heads = 10;
  for (const Engine engine : kEngines) {
    const Workers workers = workers_of(model, engine, model.precision, 8);
    EXPECT_THAT(workers.possible, testing::ElementsAre(Worker{}, kNarrow)) << name_of(engine);
  }
}

TEST(CheckWorker, WidthsArePowersOfTwoThatMatch) {
  EXPECT_THAT(refusal_of("qwen3-8b", Engine::kVllm, {.tp = 3, .moe_tp = 3}),
              HasSubstr("heads cannot be shared by 3 GPUs"));
  EXPECT_THAT(refusal_of("qwen3-30b-a3b", Engine::kSglang, {.tp = 4, .moe_tp = 2}),
              HasSubstr("tp 4 x dp 1 is not moe_tp 2 x moe_ep 1"));
}

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
