#include "model/serving/needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/serving/family.h"

namespace assay::serving {
namespace {

Model shipped_model(const char* name) {
  auto model = read_model(name);
  EXPECT_TRUE(model.ok()) << model.error().message;
  return std::move(model).value();
}

// The values of a column in the uses of an operator.
template <class Value>
std::set<Value> values(const Needs& needs, const std::string& op, const std::string& column) {
  std::set<Value> found;
  for (const Need& need : needs.needs) {
    if (need.use.op != op) continue;
    for (const model::PerfField& field : need.use.key) {
      if (field.column == column) found.insert(std::get<Value>(field.value));
    }
  }
  return found;
}

std::set<std::pair<std::int64_t, std::int64_t>> sharings(const Needs& needs) {
  std::set<std::pair<std::int64_t, std::int64_t>> found;
  for (const Need& need : needs.needs) {
    if (need.use.op == "moe")
      found.emplace(std::get<std::int64_t>(need.use.key[5].value),
                    std::get<std::int64_t>(need.use.key[6].value));
  }
  return found;
}

TEST(NeedsOf, HeadsAreThoseOfEveryTp) {
  const Needs needs = needs_of({.models = {shipped_model("llama-3.1-70b")}, .tp = {1, 4}});
  using Numbers = std::set<std::int64_t>;
  EXPECT_EQ(values<std::int64_t>(needs, "generation_attention", "num_heads"), (Numbers{64, 16}));
  EXPECT_EQ(values<std::int64_t>(needs, "generation_attention", "num_key_value_heads"),
            (Numbers{8, 2}));
  EXPECT_EQ(values<std::string>(needs, "gemm", "gemm_dtype"), (std::set<std::string>{"bfloat16"}));
}

TEST(NeedsOf, EveryUseStandsOnceWithTheModelsThatNeedIt) {
  const Needs needs =
      needs_of({.models = {shipped_model("deepseek-v3"), shipped_model("deepseek-r1")}, .tp = {8}});
  for (const Need& need : needs.needs)
    EXPECT_THAT(need.models, testing::ElementsAre("deepseek-v3", "deepseek-r1")) << need.use.role;
}

TEST(NeedsOf, NormsOfHeadsAreNeededForTheMostRows) {
  const std::vector<Model> models = {shipped_model("qwen3-8b"), shipped_model("qwen3-32b")};
  const Needs needs = needs_of({.models = models, .tp = {4, 1}});
  std::set<std::int64_t> rows_of_token;
  for (const Need& need : needs.needs) {
    if (need.use.op == "rms_norm" && std::get<std::int64_t>(need.use.key.back().value) == 128)
      rows_of_token.insert(need.use.sizes.front().factor);
  }
  EXPECT_EQ(rows_of_token, std::set<std::int64_t>{64 + 8});
}

// All groups have 4 GPUs, and exchange no tokens beside them.
TEST(NeedsOf, NormsOverAllHeadsAreNeededWithEveryWayToShareThem) {
  const auto gpus = [](const char* model) {
    const Needs needs = needs_of({.models = {shipped_model(model)}, .tp = {4}});
    return values<std::int64_t>(needs, "nccl", "num_gpus");
  };
  EXPECT_THAT(gpus("minimax-m2"), testing::ElementsAre(4));
  EXPECT_THAT(gpus("qwen3-235b-a22b"), testing::IsEmpty());
}

TEST(NeedsOf, DraftedStepsVerifyWithSoManyTimesTheHeads) {
  const Model model = shipped_model("qwen3-next-80b-a3b");
  const Needs plain = needs_of({.models = {model}, .tp = {2}});
  const Needs drafted = needs_of({.models = {model}, .tp = {2}, .speculative_tokens = 2});
  using Numbers = std::set<std::int64_t>;
  EXPECT_EQ(values<std::int64_t>(plain, "generation_attention", "num_heads"), (Numbers{8}));
  EXPECT_EQ(values<std::int64_t>(drafted, "generation_attention", "num_heads"), (Numbers{8, 24}));
  EXPECT_EQ(values<std::int64_t>(drafted, "generation_attention", "num_key_value_heads"),
            values<std::int64_t>(plain, "generation_attention", "num_key_value_heads"));
  // The projection of token and state has twice the hidden columns.
  const auto depths = values<std::int64_t>(drafted, "gemm", "k");
  EXPECT_FALSE(values<std::int64_t>(plain, "gemm", "k").contains(2 * model.hidden));
  EXPECT_TRUE(depths.contains(2 * model.hidden));
}

TEST(NeedsOf, AModelThatDraftsNothingNeedsNoMore) {
  const Model model = shipped_model("qwen3-8b");
  EXPECT_EQ(needs_of({.models = {model}, .speculative_tokens = 2}).needs.size(),
            needs_of({.models = {model}}).needs.size());
}

TEST(NeedsOf, ExpertsAreDividedInEveryWay) {
  const Needs all = needs_of({.models = {shipped_model("mixtral-8x7b")}, .tp = {1, 4}});
  EXPECT_THAT(sharings(all), testing::UnorderedElementsAre(std::pair(1, 1), std::pair(4, 1),
                                                           std::pair(2, 2), std::pair(1, 4)));
  const Needs given =
      needs_of({.models = {shipped_model("mixtral-8x7b")}, .tp = {2, 4}, .ep = {2, 8}});
  EXPECT_THAT(sharings(given),
              testing::UnorderedElementsAre(std::pair(1, 2), std::pair(2, 2), std::pair(1, 8)));
}

TEST(NeedsOf, TokensAreSpreadAsThePublicPlannerSpreadsThem) {
  const auto spreads = [](const char* model) {
    return values<std::string>(needs_of({.models = {shipped_model(model)}, .tp = {8}}), "moe",
                               "distribution");
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(spreads("qwen3-235b-a22b"), (Names{"balanced", "power_law_1.2"}));
  for (const char* model : {"deepseek-v3", "kimi-k2", "llama-4-scout"})
    EXPECT_EQ(spreads(model), (Names{"balanced", "power_law_1.01"})) << model;
  EXPECT_EQ(spreads("qwen3-32b"), Names{});
}

TEST(NeedsOf, EightBitWeightsNeedBothCaches) {
  const Needs needs = needs_of(
      {.models = {shipped_model("qwen3-8b")}, .tp = {1}, .quantizations = {Quantization::kFp8}});
  EXPECT_EQ(values<std::string>(needs, "generation_attention", "kv_cache_dtype"),
            (std::set<std::string>{"bfloat16", "fp8"}));
  EXPECT_EQ(values<std::string>(needs, "context_attention", "attn_dtype"),
            (std::set<std::string>{"bfloat16", "fp8"}));
  EXPECT_EQ(values<std::string>(needs, "gemm", "gemm_dtype"),
            (std::set<std::string>{"bfloat16", "fp8"}));  // logits stay in bfloat16
}

TEST(NeedsOf, PhaseChoosesTheAttention) {
  const Needs needs =
      needs_of({.models = {shipped_model("kimi-k2")}, .tp = {8}, .phases = {Phase::kGeneration}});
  EXPECT_TRUE(values<std::int64_t>(needs, "context_mla", "num_heads").empty());
  EXPECT_EQ(values<std::int64_t>(needs, "generation_mla", "num_heads"),
            (std::set<std::int64_t>{8}));
}

TEST(NeedsOf, ImpossibleDeploymentIsExcludedOnceWithItsReason) {
  const Needs needs = needs_of({.models = {shipped_model("qwen3-235b-a22b")},
                                .tp = {8},
                                .quantizations = {Quantization::kFp8Block}});
  ASSERT_EQ(needs.excluded.size(), 1U);
  EXPECT_EQ(needs.excluded[0].deployment, "tp 8, moe_tp 8, fp8_block");
  EXPECT_THAT(needs.excluded[0].reason, testing::HasSubstr("cuts the blocks"));
}

}  // namespace
}  // namespace assay::serving
