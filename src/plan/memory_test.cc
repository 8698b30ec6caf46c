#include "plan/memory.h"

#include <gtest/gtest.h>

#include <utility>

#include "model/serving/family.h"

namespace assay::plan {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

MemoryUse memory_of_shipped(const char* name, const MemoryRequest& request) {
  const auto model = serving::read_model(name);
  EXPECT_TRUE(model.ok());
  return memory_of(model.value(), request, {.capacity_bytes = 141 * kGib});
}

TEST(Memory, WeightsAreTheParametersOfTheModel) {
  const MemoryUse use = memory_of_shipped("llama-3.1-70b", {});
  EXPECT_NEAR(use.weight_bytes, 2 * 70.55e9, 0.01e9);
}

TEST(Memory, ExpertsInFourBitsAreNearTheSizeOfTheCheckpoint) {
  MemoryRequest request;
  request.deployment.precision = {.experts = serving::Quantization::kMxfp4};
  const MemoryUse use = memory_of_shipped("gpt-oss-120b", request);
  EXPECT_NEAR(use.weight_bytes, 65.2e9, 1e9);
}

TEST(Memory, GpusShareWeightsAndRepeatScarceHeadsOfKeys) {
  const MemoryUse one = memory_of_shipped("llama-3.1-70b", {});
  const MemoryUse eight =
      memory_of_shipped("llama-3.1-70b", {.deployment = {.tp = 8, .moe_tp = 8}});
  const MemoryUse sixteen =
      memory_of_shipped("llama-3.1-70b", {.deployment = {.tp = 16, .moe_tp = 16}});
  EXPECT_NEAR(eight.weight_bytes, one.weight_bytes / 8, 0.01 * one.weight_bytes);
  EXPECT_DOUBLE_EQ(one.bytes_per_token, 2.0 * 2 * 8 * 128 * 80);
  EXPECT_DOUBLE_EQ(eight.bytes_per_token, one.bytes_per_token / 8);
  EXPECT_DOUBLE_EQ(sixteen.bytes_per_token, eight.bytes_per_token);
}

TEST(Memory, WindowsKeepNoMoreThanTheirTokens) {
  const MemoryUse brief = memory_of_shipped("gpt-oss-120b", {.request_tokens = 128});
  const MemoryUse lengthy = memory_of_shipped("gpt-oss-120b", {.request_tokens = 128000});
  EXPECT_NEAR(lengthy.bytes_per_token, brief.bytes_per_token / 2, 0.01 * brief.bytes_per_token);
}

TEST(Memory, WhatAllRequestsShareIsKeptOnce) {
  MemoryRequest request{.deployment = {.tp = 2, .moe_tp = 2}, .request_tokens = 8500};
  const MemoryUse apart = memory_of_shipped("llama-3.1-70b", request);
  request.shared_tokens = 7500;
  const MemoryUse use = memory_of_shipped("llama-3.1-70b", request);
  EXPECT_NEAR(static_cast<double>(use.cache_tokens), static_cast<double>(apart.cache_tokens), 1);
  EXPECT_DOUBLE_EQ(use.shared_bytes, 7500 * apart.bytes_per_token);
  EXPECT_DOUBLE_EQ(use.bytes_of(1, 8500), apart.bytes_of(1, 8500));
  EXPECT_DOUBLE_EQ(use.bytes_of(9, 8500), apart.bytes_of(1, 7500 + 9 * 1000));
  EXPECT_EQ(use.tokens_of_batch(2), 7500 + (use.cache_tokens - 7500) / 2);
}

TEST(Memory, WhatAllRequestsShareMayLeaveTheCacheNoRoom) {
  const MemoryUse use =
      memory_of_shipped("llama-3.1-70b", {.request_tokens = 1'000'000, .shared_tokens = 999'000});
  EXPECT_FALSE(use.fits());
  EXPECT_EQ(use.tokens_of_batch(1), 999'000);
}

// Half of the layers have windows of 128 tokens.
TEST(Memory, OfAWindowThatReachesIntoWhatAllShareEachKeepsItsOwnPart) {
  const double all = memory_of_shipped("gpt-oss-120b", {.request_tokens = 128}).bytes_per_token;
  const auto use_of = [](std::int64_t own) {
    return memory_of_shipped("gpt-oss-120b", {.request_tokens = 8000 + own, .shared_tokens = 8000});
  };
  EXPECT_DOUBLE_EQ(use_of(100).bytes_per_token, all);
  EXPECT_DOUBLE_EQ(use_of(256).bytes_per_token, 0.75 * all);
  EXPECT_DOUBLE_EQ(use_of(256).shared_bytes, (8000 + 128) * all / 2);
}

TEST(Memory, LatentsAreNotShared) {
  const MemoryUse use = memory_of_shipped("deepseek-v3", {.deployment = {.tp = 8, .moe_tp = 8}});
  EXPECT_DOUBLE_EQ(use.bytes_per_token, 2.0 * 576 * 61);
}

TEST(Memory, AStageHoldsItsLayersAndTheLogitsAlone) {
  const double embedding = 2.0 * 128256 * 8192;
  const MemoryUse one = memory_of_shipped("llama-3.1-70b", {});
  const MemoryUse two = memory_of_shipped("llama-3.1-70b", {.pp = 2});
  EXPECT_DOUBLE_EQ(two.weight_bytes, (one.weight_bytes - 2 * embedding) / 2 + embedding);
  EXPECT_DOUBLE_EQ(two.bytes_per_token, one.bytes_per_token / 2);
}

TEST(Memory, TheLongestStageHoldsMoreThanItsShareOfTheLayers) {
  const MemoryUse one = memory_of_shipped("llama-3.1-70b", {});
  const MemoryUse three = memory_of_shipped("llama-3.1-70b", {.pp = 3});
  EXPECT_DOUBLE_EQ(three.bytes_per_token, one.bytes_per_token * 27 / 80);
}

// By hand, of a layer with experts in blocks of fp8 on one of 8 GPUs: 32 of 256 experts, an eighth
// of the shared one and of the heads' projections, and the whole router and projections to latents.
double expert_layer_bytes() {
  const double expert = 3.0 * 7168 * 2048;
  const double shared_by_heads = 128 * (1536.0 * 192 + 512.0 * 256 + 128.0 * 7168);
  const double latents = 7168.0 * (1536 + 512 + 64);
  const double elements = 32 * expert + expert / 8 + shared_by_heads / 8 + latents;
  return elements * (1 + 4.0 / (128 * 128)) + 2.0 * 256 * 7168;
}

// vLLM and TensorRT-LLM give the odd layer to the first of two stages, where three layers have no
// experts, SGLang to the last.
TEST(Memory, TheStageThatHoldsMostHasExpertsAndTheLogits) {
  const double logits = 2.0 * 129280 * 7168 / 8;
  MemoryRequest request{.deployment = {.tp = 8, .moe_ep = 8}, .pp = 2};
  request.deployment.precision = serving::weights_of(serving::Quantization::kFp8Block);
  for (const auto& [engine, layers] : {std::pair(Engine::kVllm, 30), std::pair(Engine::kTrtllm, 30),
                                       std::pair(Engine::kSglang, 31)}) {
    request.engine = engine;
    EXPECT_NEAR(memory_of_shipped("deepseek-v3", request).weight_bytes,
                layers * expert_layer_bytes() + logits, 1)
        << name_of(engine);
  }
}

TEST(Memory, BothEndsOfAPipelineHoldATiedEmbedding) {
  const double embedding = 2.0 * 262208 * 2560;
  const MemoryUse one = memory_of_shipped("gemma-3-4b", {});
  const MemoryUse two = memory_of_shipped("gemma-3-4b", {.pp = 2});
  EXPECT_DOUBLE_EQ(two.weight_bytes, (one.weight_bytes - embedding) / 2 + embedding);
}

TEST(Memory, AModelThatIsTooLargeHoldsNoToken) {
  const MemoryUse use = memory_of_shipped("llama-3.1-405b", {});
  EXPECT_FALSE(use.fits());
  EXPECT_LT(use.cache_bytes, 0);
}

TEST(Memory, TensorRtLlmCountsItsShareOfWhatIsFree) {
  MemoryRequest request{.deployment = {.tp = 4, .moe_tp = 4}, .engine = Engine::kTrtllm};
  const MemoryUse trtllm = memory_of_shipped("llama-3.1-70b", request);
  request.engine = Engine::kVllm;
  const MemoryUse vllm = memory_of_shipped("llama-3.1-70b", request);
  const double taken = trtllm.capacity_bytes - trtllm.cache_bytes / 0.9;
  EXPECT_NEAR(trtllm.cache_bytes - vllm.cache_bytes, 0.1 * taken, 1);
}

TEST(Memory, DraftingLoadsItsLayerAndKeepsItsCache) {
  const serving::Deployment plain{.tp = 8, .moe_tp = 8};
  serving::Deployment drafting = plain;
  drafting.speculative_tokens = 2;
  const MemoryUse without = memory_of_shipped("deepseek-v3", {.deployment = plain});
  const MemoryUse with = memory_of_shipped("deepseek-v3", {.deployment = drafting});
  EXPECT_DOUBLE_EQ(with.bytes_per_token, 2.0 * 576 * 62);
  // Of a layer: 257 experts of 3 x 7168 x 2048, attention, and the projection of two states.
  EXPECT_NEAR((with.weight_bytes - without.weight_bytes) * 8 / (257 * 3.0 * 7168 * 2048 * 2), 1,
              0.15);
  EXPECT_DOUBLE_EQ(with.activation_bytes - without.activation_bytes, 2.0 * 256 * 129280 * 4);
}

}  // namespace
}  // namespace assay::plan
