#include "model/serving/uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/serving/family.h"
#include "model/serving/shipped_models.h"

namespace assay::serving {
namespace {

using testing::HasSubstr;

Model shipped(const char* name) {
  auto model = read_model(name);
  EXPECT_TRUE(model.ok()) << model.error().message;
  return std::move(model).value();
}

// "2560x5120 fp8_block x64": the products with their launches.
std::vector<std::string> products(const std::vector<OperatorUse>& uses) {
  std::vector<std::string> made;
  for (const OperatorUse& use : uses) {
    if (use.op != "gemm") continue;
    made.push_back(std::to_string(std::get<std::int64_t>(use.key[1].value)) + "x" +
                   std::to_string(std::get<std::int64_t>(use.key[2].value)) + " " +
                   std::get<std::string>(use.key[0].value) + " x" + std::to_string(use.count));
  }
  return made;
}

const OperatorUse& first(const std::vector<OperatorUse>& uses, const std::string& op) {
  const auto found =
      std::find_if(uses.begin(), uses.end(), [&](const OperatorUse& use) { return use.op == op; });
  EXPECT_NE(found, uses.end()) << op;
  return *found;
}

std::int64_t number(const OperatorUse& use, const std::string& column) {
  for (const model::PerfField& field : use.key) {
    if (field.column == column) return std::get<std::int64_t>(field.value);
  }
  ADD_FAILURE() << use.role << " has no " << column;
  return -1;
}

std::int64_t launches(const std::vector<OperatorUse>& uses, const std::string& op) {
  std::int64_t count = 0;
  for (const OperatorUse& use : uses)
    count += use.op == op ? use.count : 0;
  return count;
}

// The public planner's own list for this model and deployment (four GPUs, blocks of fp8).
TEST(UsesOf, DenseModelHasThePublicPlannersProducts) {
  const Precision precision{.linear = Quantization::kFp8Block,
                            .experts = Quantization::kFp8Block,
                            .cache = Quantization::kFp8};
  const auto uses =
      uses_of(shipped("qwen3-32b"), {.tp = 4, .precision = precision}, Phase::kGeneration);
  EXPECT_THAT(products(uses),
              testing::ElementsAre("2560x5120 fp8_block x64", "5120x2048 fp8_block x64",
                                   "12800x5120 fp8_block x64", "5120x6400 fp8_block x64",
                                   "37984x5120 bfloat16 x1"));
  const OperatorUse& attention = first(uses, "generation_attention");
  EXPECT_EQ(number(attention, "num_heads"), 16);
  EXPECT_EQ(number(attention, "num_key_value_heads"), 2);
  EXPECT_EQ(attention.count, 64);
  EXPECT_EQ(launches(uses, "custom_allreduce"), 1 + 2 * 64);
}

TEST(UsesOf, LatentAttentionHasThePublicPlannersProducts) {
  const Model model = shipped("deepseek-v3");
  const Deployment deployment{.tp = 8, .moe_tp = 1, .moe_ep = 8, .precision = model.precision};
  const auto context = uses_of(model, deployment, Phase::kContext);
  // The three dense layers come first; the public planner prices them as if they had experts.
  EXPECT_THAT(products(context),
              testing::IsSupersetOf({"2112x7168 fp8_block x58", "3072x1536 fp8_block x58",
                                     "4096x512 fp8_block x58", "7168x2048 fp8_block x58",
                                     "512x7168 fp8_block x58", "7168x256 fp8_block x58",
                                     "256x7168 bfloat16 x58", "16160x7168 bfloat16 x1",
                                     "4608x7168 fp8_block x3", "7168x2304 fp8_block x3"}));
  EXPECT_EQ(number(first(context, "context_mla"), "num_heads"), 16);
  const auto generation = uses_of(model, deployment, Phase::kGeneration);
  EXPECT_EQ(launches(generation, "mla_bmm_gen_pre"), 61);
  EXPECT_EQ(launches(generation, "generation_mla"), 61);
  EXPECT_EQ(launches(generation, "context_mla"), 0);
  const OperatorUse& experts = first(generation, "moe");
  EXPECT_EQ(number(experts, "moe_ep_size"), 8);
  EXPECT_EQ(number(experts, "inter_size"), 2048);
}

TEST(UsesOf, ModelWithWindowsHasBothKindsOfAttention) {
  const auto uses = uses_of(shipped("gpt-oss-120b"), {.tp = 2, .moe_tp = 2}, Phase::kContext);
  std::vector<std::pair<std::int64_t, std::int64_t>> windows;
  for (const OperatorUse& use : uses) {
    if (use.op == "context_attention") windows.emplace_back(number(use, "window_size"), use.count);
  }
  EXPECT_THAT(windows, testing::ElementsAre(std::pair(128, 18), std::pair(0, 18)));
  EXPECT_EQ(number(first(uses, "context_attention"), "num_heads"), 32);
  EXPECT_EQ(number(first(uses, "context_attention"), "head_dim"), 64);
}

TEST(UsesOf, FewerKvHeadsThanGpusAreRepeated) {
  const auto uses = uses_of(shipped("qwen3-235b-a22b"), {.tp = 8, .moe_ep = 8}, Phase::kGeneration);
  EXPECT_EQ(number(first(uses, "generation_attention"), "num_key_value_heads"), 1);
}

TEST(UsesOf, GroupsOfGpusExchangeTokensAroundTheirExperts) {
  const auto uses = uses_of(shipped("qwen3-235b-a22b"), {.moe_ep = 8}, Phase::kGeneration);
  EXPECT_EQ(launches(uses, "nccl"), 2 * 94);
  EXPECT_EQ(launches(uses, "custom_allreduce"), 0);
  EXPECT_EQ(number(first(uses, "nccl"), "num_gpus"), 8);
  EXPECT_EQ(first(uses, "moe").sizes.front().amount, Amount::kExpertTokens);
}

TEST(UsesOf, LinearAttentionTakesThreeOfFourLayers) {
  const auto uses = uses_of(shipped("qwen3-next-80b-a3b"), {}, Phase::kContext);
  EXPECT_EQ(launches(uses, "gdn"), 2 * 36);  // the convolution and the rule
  EXPECT_EQ(launches(uses, "context_attention"), 12);
  EXPECT_EQ(launches(uses, "moe"), 48);
}

Model of_test_data(const std::string& name) {
  return shipped(
      (std::string(ASSAY_SOURCE_DIR) + "/tests/data/model_configs/" + name + ".json").c_str());
}

// The public planner's lists for the following models and deployments, but that it knows one kind
// of layer of DeepSeek-V3.2, and two of the four of Llama 4's.
TEST(UsesOf, GatedDeltaNetHasThePublicPlannersProducts) {
  const auto uses =
      uses_of(of_test_data("qwen3.5-397b-a17b"), {.tp = 4, .moe_ep = 4}, Phase::kContext);
  EXPECT_THAT(products(uses),
              testing::IsSupersetOf({"5120x4096 bfloat16 x45", "32x4096 bfloat16 x45",
                                     "4096x2048 bfloat16 x45", "512x4096 bfloat16 x45",
                                     "4096x256 bfloat16 x45", "4608x4096 bfloat16 x15",
                                     "4096x2048 bfloat16 x15", "62080x4096 bfloat16 x1"}));
  EXPECT_EQ(number(first(uses, "context_attention"), "head_dim"), 256);
  EXPECT_EQ(launches(uses, "custom_allreduce"), 1 + 2 * 60);
}

TEST(UsesOf, StateSpacesHaveThePublicPlannersProducts) {
  const auto uses =
      uses_of(of_test_data("nemotron-3-nano-30b-a3b"), {.tp = 2, .moe_ep = 2}, Phase::kGeneration);
  EXPECT_THAT(products(uses),
              testing::UnorderedElementsAre("5152x2688 bfloat16 x23", "2688x2048 bfloat16 x23",
                                            "2304x2688 bfloat16 x6", "2688x2048 bfloat16 x6",
                                            "128x2688 bfloat16 x23", "1856x2688 bfloat16 x23",
                                            "2688x1856 bfloat16 x23", "65536x2688 bfloat16 x1"));
  EXPECT_EQ(launches(uses, "mamba2"), 2 * 23);
  EXPECT_EQ(launches(uses, "moe"), 23);
  EXPECT_EQ(launches(uses, "custom_allreduce"), 1 + 52);
}

// Routers and shared experts take the 4096 columns of the model, routed experts a latent of 1024.
TEST(UsesOf, ExpertsOfNemotron3SuperWorkInALatent) {
  const auto uses = uses_of(of_test_data("nemotron-3-super-120b-a12b"), {.tp = 2, .moe_ep = 2},
                            Phase::kGeneration);
  EXPECT_THAT(products(uses),
              testing::IsSupersetOf({"512x4096 bfloat16 x40", "1024x4096 bfloat16 x40",
                                     "2688x4096 bfloat16 x40", "4096x2688 bfloat16 x40",
                                     "4096x1024 bfloat16 x40"}));
  const OperatorUse& experts = first(uses, "moe");
  EXPECT_EQ(number(experts, "hidden_size"), 1024);
  EXPECT_EQ(number(experts, "inter_size"), 2688);
  EXPECT_EQ(experts.module.weights, 2 * (512 / 2) * 1024 * 2688);
  EXPECT_EQ(launches(uses, "custom_allreduce"), 1 + 88);
}

TEST(UsesOf, GpusExchangeTheLatentsOfTheirTokens) {
  const auto uses =
      uses_of(of_test_data("nemotron-3-super-120b-a12b"), {.moe_ep = 8}, Phase::kGeneration);
  EXPECT_EQ(launches(uses, "nccl"), 2 * 40);
  EXPECT_EQ(first(uses, "nccl").sizes.front().factor, 1024);
}

TEST(UsesOf, SparseAttentionIsOneModule) {
  const Model model = of_test_data("deepseek-v3.2");
  const Deployment deployment{.tp = 8, .moe_ep = 8, .precision = model.precision};
  const auto uses = uses_of(model, deployment, Phase::kGeneration);
  EXPECT_THAT(products(uses),
              testing::UnorderedElementsAre("4608x7168 fp8_block x3", "7168x2304 fp8_block x3",
                                            "256x7168 bfloat16 x58", "512x7168 fp8_block x58",
                                            "7168x256 fp8_block x58", "16160x7168 bfloat16 x1"));
  const OperatorUse& module = first(uses, "dsa");
  EXPECT_EQ(module.table, "dsa_generation_module_perf");
  EXPECT_EQ(number(module, "num_heads"), 16);
  EXPECT_EQ(launches(uses, "dsa"), 61);
  EXPECT_FALSE(is_collected(module));
}

TEST(UsesOf, MiniMaxHasThePublicPlannersProducts) {
  const Model model = shipped("minimax-m2");
  const auto uses =
      uses_of(model, {.tp = 4, .moe_tp = 4, .precision = model.precision}, Phase::kGeneration);
  EXPECT_THAT(products(uses),
              testing::ElementsAre("2048x3072 fp8_block x62", "3072x1536 fp8_block x62",
                                   "256x3072 bfloat16 x62", "50016x3072 bfloat16 x1"));
}

// "all_reduce x62 of 4", by the elements of a token, of what runs between queries and the norm.
std::vector<std::string> shared_norms(const Deployment& deployment) {
  std::vector<std::string> made;
  for (const OperatorUse& use : uses_of(shipped("minimax-m2"), deployment, Phase::kGeneration)) {
    const bool is_shared = use.role.find("quer") != std::string::npos;
    if (!is_shared && use.role.find("keys") == std::string::npos) continue;
    made.push_back(use.op_name + " x" + std::to_string(use.count) + " of " +
                   std::to_string(use.sizes.front().factor));
  }
  return made;
}

// 48 heads and 8 of keys, each of 128, of which each of 4 GPUs has a quarter.
TEST(UsesOf, NormsOverTheHeadsOfAllGpusAreSharedAsTheEngineDoesIt) {
  using testing::ElementsAre;
  const auto with = [](HeadNorm head_norm) {
    return shared_norms({.tp = 4, .moe_tp = 4, .head_norm = head_norm});
  };
  EXPECT_THAT(with(HeadNorm::kOneSum), ElementsAre("all_reduce x62 of 4", "rms_norm x62 of 14"));
  EXPECT_THAT(with(HeadNorm::kTwoSums),
              ElementsAre("all_reduce x62 of 2", "all_reduce x62 of 2", "rms_norm x62 of 14"));
  EXPECT_THAT(
      with(HeadNorm::kGathered),
      ElementsAre("all_gather x62 of 6144", "all_gather x62 of 1024", "rms_norm x62 of 56"));
  EXPECT_THAT(shared_norms({}), ElementsAre("rms_norm x62 of 56"));
}

TEST(UsesOf, ChunkedAttentionHasThePublicPlannersProducts) {
  const auto uses = uses_of(shipped("llama-4-maverick"), {.tp = 8, .moe_ep = 8}, Phase::kContext);
  EXPECT_THAT(products(uses),
              testing::IsSupersetOf({"896x5120 bfloat16 x24", "5120x640 bfloat16 x24",
                                     "4096x5120 bfloat16 x24", "5120x2048 bfloat16 x24",
                                     "25256x5120 bfloat16 x1"}));
  std::int64_t chunked = 0;
  for (const OperatorUse& use : uses) {
    if (use.op != "context_attention") continue;
    EXPECT_EQ(number(use, "window_size"), 0);
    if (use.chunk == 8192) chunked += use.count;
  }
  EXPECT_EQ(chunked, 36);  // every fourth of 48 layers attends to everything
}

// Attention and the feed-forward layer of Gemma have a norm before and behind them.
TEST(UsesOf, GemmaHasFourNormsInALayer) {
  const auto uses = uses_of(shipped("gemma-3-27b"), {}, Phase::kGeneration);
  std::int64_t norms = 0;
  for (const OperatorUse& use : uses) {
    if (use.role.starts_with("norm ") && number(use, "columns") == 5376) norms += use.count;
  }
  EXPECT_EQ(norms, 4 * 62);
}

TEST(UsesOf, EveryShippedModelHasItsLayers) {
  for (const ShippedModel& about : shipped_models()) {
    const Model model = shipped(std::string(about.name).c_str());
    const auto uses = uses_of(model, {}, Phase::kGeneration);
    EXPECT_EQ(launches(uses, "generation_attention") + launches(uses, "generation_mla") +
                  launches(uses, "gdn") / 2,
              model.num_layers())
        << about.name;
    EXPECT_EQ(launches(uses, "moe") > 0, model.has_experts()) << about.name;
  }
}

// Of two projections to latents that are one product elsewhere, one stays in bfloat16.
TEST(UsesOf, WhatACheckpointLeavesOutIsInBfloat16) {
  Model model = shipped("deepseek-v3");
  for (EqualLayers& equal : model.layers)
    equal.layer.left_out.add(Projection::kLatentDown);
  const Deployment deployment{.tp = 8, .moe_ep = 8, .precision = model.precision};
  EXPECT_THAT(products(uses_of(model, deployment, Phase::kContext)),
              testing::IsSupersetOf(
                  {"1536x7168 fp8_block x58", "576x7168 bfloat16 x58", "3072x1536 fp8_block x58"}));
  // Weights that are kept in another way than the checkpoint's leave nothing out.
  const Deployment other{.tp = 8, .moe_ep = 8, .precision = weights_of(Quantization::kFp8)};
  EXPECT_THAT(products(uses_of(model, other, Phase::kContext)),
              testing::Contains("2112x7168 fp8 x58"));
}

TEST(CheckDeployment, NamesWhatCannotBeShared) {
  const Model model = shipped("qwen3-14b");
  EXPECT_TRUE(check_deployment(model, {.tp = 8}).ok());
  const core::Status odd = check_deployment(model, {.tp = 16});
  ASSERT_FALSE(odd.ok());
  EXPECT_THAT(odd.error().message, HasSubstr("40 heads cannot be shared by 16 GPUs"));
}

// The heads of Phi-4, which vLLM loads as a Llama: 10 of keys and values.
Model with_ten_key_heads() {
  Model model = shipped("llama-3.1-8b");
  Layer& layer = model.layers.front().layer;
  auto& attention = std::get<Attention>(layer.mixer);
  attention.heads = 40;
  attention.kv_heads = 10;
  layer.feed_forward = FeedForward{.intermediate = 17920};
  return model;
}

TEST(CheckDeployment, HeadsOfKeysAreSharedOrRepeatedEvenly) {
  Model model = with_ten_key_heads();
  EXPECT_TRUE(check_deployment(model, {.tp = 2}).ok());   // 5 each
  EXPECT_TRUE(check_deployment(model, {.tp = 10}).ok());  // 1 each
  EXPECT_TRUE(check_deployment(model, {.tp = 20}).ok());  // each head on two
  for (const std::int64_t tp : {4, 8}) {
    const core::Status odd = check_deployment(model, {.tp = tp});
    ASSERT_FALSE(odd.ok()) << tp;
    EXPECT_THAT(odd.error().message, HasSubstr("10 heads of keys and values cannot be shared by"));
  }
  std::get<Attention>(model.layers.front().layer.mixer).kv_heads = 1;
  EXPECT_TRUE(check_deployment(model, {.tp = 8}).ok());
}

TEST(CheckDeployment, GroupsOfAStateSpaceAreSharedUnlessThereIsOne) {
  Model model = of_test_data("nemotron-3-nano-30b-a3b");
  EXPECT_TRUE(check_deployment(model, {.tp = 8}).ok());
  const core::Status odd = check_deployment(model, {.tp = 16});
  ASSERT_FALSE(odd.ok());
  EXPECT_THAT(odd.error().message, HasSubstr("8 groups of heads cannot be shared by 16 GPUs"));
  for (EqualLayers& equal : model.layers) {
    if (auto* space = std::get_if<StateSpace>(&equal.layer.mixer)) space->groups = 1;
  }
  EXPECT_TRUE(check_deployment(model, {.tp = 16}).ok());
}

// Qwen2.5-72B has 29568 columns, which eight GPUs cannot share in groups of 128: its checkpoints of
// 4-bit integers have 29696.
TEST(CheckDeployment, GroupsOfIntegersInDenseLayersAreNotCut) {
  Model model = shipped("llama-3.1-70b");
  const auto refusal = [&](std::int64_t columns, std::int64_t group) {
    model.layers.front().layer.feed_forward = FeedForward{.intermediate = columns};
    Deployment deployment{.tp = 8};
    deployment.precision.linear = Quantization::kInt4;
    deployment.precision.integer_group = group;
    const core::Status status = check_deployment(model, deployment);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(refusal(29696, 128), "");
  EXPECT_THAT(refusal(29568, 128),
              HasSubstr("an intermediate size of 29568 on 8 GPUs cuts the blocks of 128"));
  EXPECT_EQ(refusal(29568, 16), "");
  EXPECT_EQ(refusal(29568, 0), "");
}

TEST(CheckDeployment, BlocksOfFp8AreNotCut) {
  const Model model = shipped("qwen3-235b-a22b");
  const Precision blocks{.experts = Quantization::kFp8Block};
  EXPECT_TRUE(check_deployment(model, {.tp = 4, .moe_tp = 4, .precision = blocks}).ok());
  const core::Status cut = check_deployment(model, {.tp = 8, .moe_tp = 8, .precision = blocks});
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.error().message, HasSubstr("1536 on 8 GPUs cuts the blocks of 128"));
}

std::vector<std::string> roles(const std::vector<OperatorUse>& uses) {
  std::vector<std::string> made;
  made.reserve(uses.size());
  for (const OperatorUse& use : uses)
    made.push_back(use.role);
  return made;
}

TEST(UsesOf, LayersForMultiTokenPredictionRunOnlyWhereTheyDraft) {
  const Model model = shipped("deepseek-v3");
  const Deployment plain{.tp = 8, .moe_tp = 1, .moe_ep = 8};
  Deployment drafting = plain;
  drafting.speculative_tokens = 3;
  Model without = model;
  without.mtp.reset();
  for (const Phase phase : {Phase::kContext, Phase::kGeneration}) {
    const auto uses = uses_of(model, plain, phase);
    EXPECT_EQ(roles(uses), roles(uses_of(without, plain, phase)));
    const auto drafted = uses_of(model, drafting, phase);
    EXPECT_GT(drafted.size(), uses.size());
    EXPECT_THAT(roles(drafted), testing::Contains("MTP projection of token and state"));
    EXPECT_THAT(roles(drafted), testing::Contains("MTP experts"));
  }
  EXPECT_TRUE(draft_uses_of(model, plain).empty());
}

TEST(UsesOf, VerifyingAsksForAsManyTimesTheHeads) {
  const Deployment drafting{.tp = 8, .moe_tp = 1, .moe_ep = 8, .speculative_tokens = 3};
  const auto latent = uses_of(shipped("deepseek-v3"), drafting, Phase::kGeneration);
  EXPECT_EQ(number(first(latent, "generation_mla"), "num_heads"), 16 * 4);
  // Products into and out of the latent are for each token.
  EXPECT_EQ(number(first(latent, "mla_bmm_gen_pre"), "num_heads"), 16);
  const auto grouped = uses_of(shipped("glm-4.5"), drafting, Phase::kGeneration);
  EXPECT_EQ(number(first(grouped, "generation_attention"), "num_heads"), 12 * 4);
  EXPECT_EQ(number(first(grouped, "generation_attention"), "num_key_value_heads"), 1);
  const auto prompts = uses_of(shipped("glm-4.5"), drafting, Phase::kContext);
  EXPECT_EQ(number(first(prompts, "context_attention"), "num_heads"), 12);
}

TEST(UsesOf, DraftsBehindTheFirstHaveOneQueryAndAllHaveLogits) {
  const Deployment three{.tp = 8, .moe_tp = 1, .moe_ep = 8, .speculative_tokens = 3};
  const auto drafts = draft_uses_of(shipped("deepseek-v3"), three);
  EXPECT_EQ(number(first(drafts, "generation_mla"), "num_heads"), 16);
  EXPECT_EQ(first(drafts, "generation_mla").count, 2);
  EXPECT_EQ(drafts.back().role, "MTP logits");
  EXPECT_EQ(drafts.back().count, 3);
  Deployment one = three;
  one.speculative_tokens = 1;
  EXPECT_THAT(roles(draft_uses_of(shipped("deepseek-v3"), one)),
              testing::ElementsAre("MTP logits"));
}

}  // namespace
}  // namespace assay::serving
