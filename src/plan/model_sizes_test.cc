// Sizes of models as their makers publish them, against those that follow from their configs.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "model/serving/family.h"
#include "plan/memory.h"

namespace assay::plan {
namespace {

serving::Model model_of(const std::string& name) {
  const bool is_file = name.ends_with(".json");
  const std::string path =
      is_file ? std::string(ASSAY_SOURCE_DIR) + "/tests/data/model_configs/" + name : name;
  auto model = serving::read_model(path);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  return std::move(model).value();
}

MemoryUse memory_of_one_gpu(const std::string& name, const MemoryRequest& request) {
  return memory_of(model_of(name), request, {.capacity_bytes = 1e13});
}

struct Published {
  const char* model;
  double parameters;  // of the decoder, in billions
};

// Of model cards, or of the checkpoints' tensors where these tell more digits. Towers that read
// pictures, and layers that draft tokens, are not counted.
constexpr std::array<Published, 29> kPublished = {{
    {"llama-3.1-8b", 8.03},
    {"llama-3.1-70b", 70.55},
    {"llama-3.1-405b", 405.9},
    {"qwen3-8b", 8.19},
    {"qwen3-14b", 14.77},
    {"qwen3-32b", 32.76},
    {"qwen3-30b-a3b", 30.53},
    {"qwen3-235b-a22b", 235.09},
    {"qwen3-next-80b-a3b", 80},
    {"deepseek-v3", 671},
    {"kimi-k2", 1026},
    {"glm-4.5", 355},
    {"gpt-oss-120b", 116.83},
    {"gpt-oss-20b", 20.91},
    {"mixtral-8x7b", 46.70},
    {"mixtral-8x22b", 140.62},
    {"mistral-7b-v0.1", 7.24},
    {"mistral-small-24b", 23.57},
    {"gemma-3-27b", 27.01},
    {"gemma-3-12b", 11.77},
    {"gemma-3-4b", 3.88},
    {"llama-4-scout", 107.8},
    {"llama-4-maverick", 400},
    {"minimax-m2", 230},
    {"deepseek-v3.2.json", 671},
    {"glm-5.json", 744},
    {"qwen3.5-397b-a17b.json", 397},
    {"nemotron-3-nano-30b-a3b.json", 31.6},
    {"nemotron-3-super-120b-a12b.json", 120.6},
}};

TEST(PublishedSizes, FollowFromTheConfigWithinOnePercent) {
  for (const Published& one : kPublished) {
    const double billions = memory_of_one_gpu(one.model, {}).weight_bytes / 2 / 1e9;
    EXPECT_NEAR(billions / one.parameters, 1, 0.01) << one.model << ": " << billions;
  }
}

constexpr double kBfloat16Bytes = 2;

// Each of 61 layers keeps a latent of 512 elements, a positional key of 64 and the indexer's key of
// 128 in fp8 with a scale of 4 bytes. In fp8 the latent has 4 scales of 4 bytes, and the positional
// key stays in bfloat16.
TEST(CacheSizes, SparseAttentionKeepsTheIndexersKeys) {
  MemoryRequest request{.deployment = {.tp = 8, .moe_tp = 1, .moe_ep = 8}};
  EXPECT_DOUBLE_EQ(memory_of_one_gpu("deepseek-v3.2.json", request).bytes_per_token,
                   61 * ((512 + 64) * kBfloat16Bytes + 128 + 4));
  request.deployment.precision.cache = serving::Quantization::kFp8;
  EXPECT_DOUBLE_EQ(memory_of_one_gpu("deepseek-v3.2.json", request).bytes_per_token,
                   61 * (512 + 4 * 4 + 64 * kBfloat16Bytes + 128 + 4));
}

// A quarter of 60 layers has 2 heads of keys and values of 256. The others have 64 heads with a
// matrix of 128 x 128 in float32, and the last 3 tokens of the convolution's columns: queries and
// keys of 16 heads, values of 64.
TEST(CacheSizes, LinearAttentionKeepsAStateForEachRequest) {
  const MemoryUse use = memory_of_one_gpu("qwen3.5-397b-a17b.json", {.engine = Engine::kVllm});
  EXPECT_DOUBLE_EQ(use.bytes_per_token, 15 * 2 * 2 * 256 * kBfloat16Bytes);
  EXPECT_DOUBLE_EQ(use.bytes_per_request,
                   45 * (64 * 128 * 128 * 4.0 + (2 * 16 + 64) * 128 * 3 * kBfloat16Bytes));
}

// 6 of 52 layers attend, with 2 heads of 128. 23 have 64 heads with a matrix of 64 x 128 in
// float32, and the last 3 tokens of 64 x 64 columns and of 8 groups of twice 128.
TEST(CacheSizes, StateSpacesKeepAStateForEachRequest) {
  const MemoryUse use = memory_of_one_gpu("nemotron-3-nano-30b-a3b.json", {});
  EXPECT_DOUBLE_EQ(use.bytes_per_token, 6 * 2 * 2 * 128 * kBfloat16Bytes);
  EXPECT_DOUBLE_EQ(use.bytes_per_request,
                   23 * (64 * 64 * 128 * 4.0 + (64 * 64 + 8 * 2 * 128) * 3 * kBfloat16Bytes));
}

double state_bytes(const serving::Model& model, Engine engine) {
  return memory_of(model, {.engine = engine}, {.capacity_bytes = 1e13}).bytes_per_request;
}

// 36 of 48 layers have 32 heads with a matrix of 128 x 128, and a convolution over 16 heads of
// queries, as many of keys and 32 of values. Qwen3-Next asks for no type: vLLM and TensorRT-LLM
// take that of the model.
TEST(CacheSizes, EnginesKeepLinearAttentionInTheirOwnTypes) {
  const auto bytes = [](double of_element) {
    return 36 * (32 * 128 * 128 * of_element + (2 * 16 + 32) * 128 * 3 * kBfloat16Bytes);
  };
  serving::Model model = model_of("qwen3-next-80b-a3b");
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kVllm), bytes(2));
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kSglang), bytes(4));
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kTrtllm), bytes(2));
  model.state_type = "float32";
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kVllm), bytes(4));
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kTrtllm), bytes(2));
  model.state_type = "bfloat16";
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kSglang), bytes(2));
}

// SGLang does not read mamba_ssm_cache_dtype.
TEST(CacheSizes, EnginesKeepStateSpacesInTheirOwnTypes) {
  const auto bytes = [](double of_element) {
    return 23 * (64 * 64 * 128 * of_element + (64 * 64 + 8 * 2 * 128) * 3 * kBfloat16Bytes);
  };
  serving::Model model = model_of("nemotron-3-nano-30b-a3b.json");
  EXPECT_EQ(model.state_cache_type, "float32");
  model.state_cache_type = "bfloat16";
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kVllm), bytes(2));
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kSglang), bytes(4));
  model.state_cache_type.clear();
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kVllm), bytes(4));
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kSglang), bytes(4));
  EXPECT_DOUBLE_EQ(state_bytes(model, Engine::kTrtllm), bytes(2));
}

// 62 layers with 8 heads of 128, of which each of 4 GPUs has 2, in fp8: what the public planner
// reckons, too.
TEST(CacheSizes, GroupedHeadsAreShared) {
  const MemoryRequest request{
      .deployment = {.tp = 4, .moe_tp = 4, .precision = {.cache = serving::Quantization::kFp8}}};
  EXPECT_DOUBLE_EQ(memory_of_one_gpu("minimax-m2", request).bytes_per_token, 31744);
}

// 48 layers with 8 heads of 128, of which each of 8 GPUs has one: what the public planner reckons.
TEST(CacheSizes, ChunksKeepAllOfAShortRequest) {
  const MemoryRequest request{.deployment = {.tp = 8, .moe_tp = 1, .moe_ep = 8},
                              .request_tokens = 8192};
  EXPECT_DOUBLE_EQ(memory_of_one_gpu("llama-4-maverick", request).bytes_per_token, 24576);
}

// 36 of the layers keep 8192 tokens, where the engine frees what lies before a chunk.
TEST(CacheSizes, ChunksKeepAllWhereTheEngineFreesNone) {
  MemoryRequest request{.deployment = {.tp = 8, .moe_tp = 1, .moe_ep = 8}, .request_tokens = 60500};
  EXPECT_NEAR(memory_of_one_gpu("llama-4-maverick", request).bytes_per_token,
              (12 + 36 * 8192 / 60500.0) * 512, 1e-6);
  request.kept.frees_chunks = false;
  EXPECT_DOUBLE_EQ(memory_of_one_gpu("llama-4-maverick", request).bytes_per_token, 24576);
}

TEST(CacheSizes, WindowsKeepAllWhereTheEngineFreesNone) {
  const MemoryRequest request{.kept = {.frees_windows = false}, .request_tokens = 10240};
  EXPECT_DOUBLE_EQ(memory_of_one_gpu("gemma-3-27b", request).bytes_per_token,
                   62.0 * 2 * 16 * 128 * kBfloat16Bytes);
}

// The figures are sums by hand: 62 layers with 8 of 16 heads of 128 on each of two GPUs, 31,000
// tokens of 4096 bytes in each layer.
TEST(CacheSizes, WindowsWithMemoryApartHaveRoomForWhatBegins) {
  MemoryRequest request{.deployment = {.tp = 2, .moe_tp = 2},
                        .engine = Engine::kTrtllm,
                        .max_tokens = 31'552,
                        .kept = kKeptWhole,
                        .request_tokens = 31'000,
                        .output_tokens = 1000};
  const MemoryUse whole = memory_of_one_gpu("gemma-3-27b", request);
  EXPECT_DOUBLE_EQ(whole.bytes_per_token, 62.0 * 4096);
  EXPECT_EQ(whole.window_tokens, 0);
  request.kept = {.is_apart = true};
  const MemoryUse apart = memory_of_one_gpu("gemma-3-27b", request);
  const double begun = 52.0 * 4096 * 31'552;
  const double windows = 52.0 * 4096 * (1024 + 1000);
  const double others = 10.0 * 4096 * 31'000;
  const double requests = (apart.cache_bytes - begun) / (windows + others);
  EXPECT_EQ(apart.cache_tokens, static_cast<std::int64_t>(requests * 31'000));
  EXPECT_NEAR(apart.window_tokens, requests * 2024 + 31'552, 1);
  EXPECT_NEAR(apart.window_share, (requests * windows + begun) / apart.cache_bytes, 1e-6);
}

// Short requests are kept whole, since room for what begins would cost more.
TEST(CacheSizes, WindowsHaveNoMemoryApartWhereThatHoldsLess) {
  MemoryRequest request{.deployment = {.tp = 2, .moe_tp = 2},
                        .kept = {.is_apart = true},
                        .request_tokens = 2000,
                        .output_tokens = 1000};
  const MemoryUse apart = memory_of_one_gpu("gemma-3-27b", request);
  request.kept = kKeptWhole;
  EXPECT_EQ(apart.cache_tokens, memory_of_one_gpu("gemma-3-27b", request).cache_tokens);
  EXPECT_EQ(apart.window_share, 0);
}

// Of 62 layers 52 keep 1024 tokens, all with 16 heads of 128.
TEST(CacheSizes, WindowsKeepTheirTokens) {
  const MemoryUse use = memory_of_one_gpu("gemma-3-27b", {.request_tokens = 10240});
  EXPECT_DOUBLE_EQ(use.bytes_per_token, (10 + 52 * 0.1) * 2 * 16 * 128 * kBfloat16Bytes);
}

// Experts of 4 bits with a scale of 2 bytes for 32 beside attention in bfloat16: 1.026e12
// elements, of which 384 experts of 60 layers are 1.0145e12.
TEST(CheckpointSizes, ExpertsInIntegersOfFourBits) {
  const serving::Model model = model_of("kimi-k2.5.json");
  EXPECT_EQ(model.precision.experts, serving::Quantization::kInt4);
  EXPECT_EQ(model.precision.linear, serving::Quantization::kBfloat16);
  MemoryRequest request;
  request.deployment.precision = model.precision;
  const MemoryUse use = memory_of(model, request, {.capacity_bytes = 1e13});
  const double experts = 60.0 * 384 * 3 * 7168 * 2048;
  const double others = 1.0264e12 - experts;
  EXPECT_NEAR(use.weight_bytes, experts * (0.5 + 2.0 / 32) + others * 2, 0.01 * use.weight_bytes);
}

MemoryUse memory_of_checkpoint(const std::string& config) {
  const auto model = serving::parse_model(config, "config.json");
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  if (!model.ok()) return {};
  MemoryRequest request;
  request.deployment.precision = model.value().precision;
  return memory_of(model.value(), request, {.capacity_bytes = 1e13});
}

// Llama 3.1 8B: each of 32 layers has projections of 4096 x (4096 + 2 x 1024) and 4096 x 4096, and
// three of 4096 x 14336. Embedding and logits stay in bfloat16.
TEST(CheckpointSizes, WhatIsLeftOutOfADenseModelHasTwoBytes) {
  const auto bytes = [](const std::string& ignored) {
    return memory_of_checkpoint(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
        "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256, "quantization_config": {
          "quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights":
          {"num_bits": 8, "type": "float"}}}, "ignore": ["lm_head")" +
                                ignored + "]}}")
        .weight_bytes;
  };
  const double attention = 32.0 * (4096 * (4096 + 2 * 1024) + 4096 * 4096);
  const double others = 32.0 * 3 * 4096 * 14336;
  const double ends = 2.0 * 128256 * 4096 * kBfloat16Bytes;
  EXPECT_DOUBLE_EQ(bytes(""), attention + others + ends);
  EXPECT_DOUBLE_EQ(bytes(R"(, "re:.*self_attn.*")"), 2 * attention + others + ends);
  EXPECT_DOUBLE_EQ(bytes(R"(, "model.layers.0.self_attn", "model.layers.31.self_attn")"),
                   attention * 34 / 32 + others + ends);
}

// A scale of 2 bytes for 32 elements.
TEST(CheckpointSizes, IntegersHaveAScaleForEachGroup) {
  const MemoryUse use = memory_of_checkpoint(R"({"architectures": ["LlamaForCausalLM"],
      "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 1,
      "num_attention_heads": 32, "vocab_size": 1024, "quantization_config": {"quant_method": "gptq",
      "bits": 4, "group_size": 32}})");
  EXPECT_DOUBLE_EQ(use.weight_bytes, (4.0 * 4096 * 4096 + 3.0 * 4096 * 14336) * (0.5 + 2.0 / 32) +
                                         2.0 * 1024 * 4096 * kBfloat16Bytes);
}

}  // namespace
}  // namespace assay::plan
