#include "collect/plan/plan_for_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "model/serving/family.h"

namespace assay::collect {
namespace {

ModelsPlan planned(const char* model, serving::NeedsRequest request, PlanOptions options) {
  request.models = {serving::read_model(model).value()};
  options.grid = Grid::kModels;
  if (options.operators.empty()) options.operators = all_operators();
  return plan_for_models(request, serving::needs_of(request).needs, options);
}

std::vector<std::string> ids_of(const ModelsPlan& made, const std::string& op) {
  std::vector<std::string> ids;
  for (const PlannedCase& planned : made.plan.cases) {
    if (planned.operator_name == op) ids.push_back(planned.id);
  }
  return ids;
}

TEST(PlanForModels, WeightsAreTheModelsAndTokensTheGrids) {
  const ModelsPlan made =
      planned("llama-3.1-8b", {.tp = {1}}, {.operators = {find_operator("gemm")}});
  const auto ids = ids_of(made, "gemm");
  constexpr std::size_t kWeights = 5;  // qkv, output, gate and up, down, logits
  EXPECT_EQ(ids.size(), kWeights * find_operator("gemm")->axes[1].values(Grid::kModels).size());
  EXPECT_THAT(ids, testing::Contains("gemm gemm_dtype=bfloat16 m=64 n=28672 k=4096"));
  EXPECT_THAT(ids, testing::Contains("gemm gemm_dtype=bfloat16 m=1 n=128256 k=4096"));
}

TEST(PlanForModels, HeadsAndWindowsAreNotCrossed) {
  const ModelsPlan made = planned("gemma-3-27b", {.tp = {1, 8}},
                                  {.operators = {find_operator("generation_attention")}});
  std::set<std::string> keys;
  for (const std::string& id : ids_of(made, "generation_attention")) {
    const std::size_t begin = id.find("num_heads");
    keys.insert(id.substr(begin, id.find(" attn_dtype") - begin));
  }
  EXPECT_THAT(keys, testing::UnorderedElementsAre(
                        "num_heads=32 num_key_value_heads=16 head_dim=128 window_size=0",
                        "num_heads=32 num_key_value_heads=16 head_dim=128 window_size=1024",
                        "num_heads=4 num_key_value_heads=2 head_dim=128 window_size=0",
                        "num_heads=4 num_key_value_heads=2 head_dim=128 window_size=1024"));
}

TEST(PlanForModels, HeadsOfLatentsHaveOneNumberOfGpus) {
  const ModelsPlan made =
      planned("deepseek-v3", {.tp = {2}}, {.operators = {find_operator("generation_mla")}});
  ASSERT_FALSE(ids_of(made, "generation_mla").empty());
  for (const std::string& id : ids_of(made, "generation_mla"))
    EXPECT_THAT(
        id, testing::AllOf(testing::HasSubstr("num_heads=64 "), testing::HasSubstr("tp_size=2 ")));
}

// A norm of queries and keys has a row for each head of a token; norms of tokens have no such rows,
// which would not fit into small GPUs.
TEST(PlanForModels, NormsOfHeadsHaveMoreRowsThanTokens) {
  const ModelsPlan made =
      planned("qwen3-32b", {.tp = {1}},
              {.operators = {find_operator("rms_norm"), find_operator("add_rms_norm")}});
  const auto heads = ids_of(made, "rms_norm");
  EXPECT_THAT(heads, testing::Contains(
                         testing::StartsWith("rms_norm dtype=bfloat16 rows=524288 columns=128 ")));
  const auto tokens = ids_of(made, "add_rms_norm");
  EXPECT_THAT(tokens, testing::Contains(testing::HasSubstr("rows=65536 ")));
  EXPECT_THAT(tokens, testing::Not(testing::Contains(testing::HasSubstr("rows=131072 "))));
}

TEST(PlanForModels, NoCaseComesTwice) {
  const ModelsPlan made = planned("deepseek-v3", {}, {});
  std::set<std::string> once;
  for (const PlannedCase& planned : made.plan.cases)
    EXPECT_TRUE(once.insert(planned.id).second) << planned.id;
  EXPECT_FALSE(ids_of(made, "context_mla").empty());
  EXPECT_FALSE(ids_of(made, "mla_bmm_gen_pre").empty());
}

TEST(PlanForModels, CollectivesAreThoseOfTheDeployment) {
  const ModelsPlan made = planned("qwen3-30b-a3b", {.tp = {1, 2}}, {});
  for (const std::string& id : ids_of(made, "nccl")) {
    EXPECT_THAT(id, testing::HasSubstr("num_gpus=2"));
    EXPECT_THAT(
        id, testing::AnyOf(testing::HasSubstr("all_gather"), testing::HasSubstr("reduce_scatter")));
  }
  EXPECT_FALSE(ids_of(made, "nccl").empty());
  EXPECT_FALSE(ids_of(made, "custom_allreduce").empty());
}

TEST(PlanForModels, FiltersAndLimitsAreThoseOfEveryPlan) {
  const ModelsPlan made =
      planned("llama-3.1-8b", {.tp = {1}}, {.case_filters = {"m=1 "}, .limit = 2});
  EXPECT_EQ(ids_of(made, "gemm").size(), 2U);
  EXPECT_TRUE(ids_of(made, "generation_attention").empty());
}

TEST(PlanForModels, LayersAreThoseThatTheRequestCovers) {
  const PlanOptions options{.operators = {find_operator("decode_layer")}};
  const auto layers = [&](serving::NeedsRequest request) {
    return ids_of(planned("llama-3.1-8b", std::move(request), options), "decode_layer");
  };
  const auto own = layers({});
  EXPECT_EQ(own.size(), 3U);
  EXPECT_THAT(own, testing::Each(testing::HasSubstr("tp_size=1 moe_ep_size=1 quantization=bf")));
  EXPECT_EQ(layers({.quantizations = {std::nullopt, serving::Quantization::kFp8}}).size(), 6U);
  EXPECT_TRUE(layers({.tp = {2}}).empty());
  EXPECT_TRUE(layers({.phases = {serving::Phase::kContext}}).empty());
}

}  // namespace
}  // namespace assay::collect
