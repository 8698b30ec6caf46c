#include "plan/compat/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/compat/compat_test_util.h"
#include "plan/compat/operator_times.h"
#include "plan/compat/steps.h"

namespace assay::plan::compat {
namespace {

Operators small_operators() {
  Measured measured = measured_of(tables_of_small_model());
  auto operators = operators_of(small_model(), {}, Engine::kTrtllm, measured);
  EXPECT_TRUE(operators.ok()) << (operators.ok() ? "" : operators.error().message);
  return std::move(operators).value();
}

const Operator& find(const std::vector<Operator>& all, const std::string& name) {
  for (const Operator& one : all) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << name;
  return all.front();
}

double memory_of_bytes(double bytes) {
  return memory_ms(made_facts(), bytes);
}

TEST(CompatOperators, ADenseModelHasThePublicList) {
  std::vector<std::string> names;
  for (const Operator& one : small_operators().context)
    names.push_back(one.name);
  EXPECT_THAT(
      names, testing::ElementsAre("context_embedding", "context_add_norm_1", "context_qkv_gemm",
                                  "context_attention", "context_proj_gemm", "context_add_norm_2",
                                  "context_gate_ffn1_gemm", "context_act_gate", "context_ffn2_gemm",
                                  "context_logits_gemm", "context_embedding_ar", "context_ar_1",
                                  "context_ar_2"));
}

TEST(CompatOperators, EachIsTimedForAllLayers) {
  const Operators operators = small_operators();
  const Asked asked{.tokens = 1000, .requests = 1, .length = 1000};
  EXPECT_DOUBLE_EQ(find(operators.context, "context_qkv_gemm").ms(asked), 2);
  EXPECT_DOUBLE_EQ(find(operators.context, "context_add_norm_1").ms(asked),
                   2 * memory_of_bytes(1000.0 * 8 * 256));
  EXPECT_DOUBLE_EQ(find(operators.context, "context_embedding").ms(asked),
                   memory_of_bytes(1000.0 * 2 * 256));
  EXPECT_DOUBLE_EQ(find(operators.context, "context_act_gate").ms(asked),
                   2 * memory_of_bytes(1000.0 * 2 * (1024 + 512)));
}

TEST(CompatOperators, PromptsPayForWhatGoesWithAttention) {
  const double beside = 2 * memory_of_bytes(2 * 256 + 2 * 128) + 2 * memory_of_bytes(2 * 128);
  EXPECT_DOUBLE_EQ(find(small_operators().context, "context_attention")
                       .ms({.tokens = 2000, .requests = 1, .length = 2000}),
                   2 * (4 + 1.1 * beside));
}

TEST(CompatOperators, APrefixTakesItsSquareOff) {
  const Operator attention = find(small_operators().context, "context_attention");
  const double whole = attention.ms({.requests = 1, .length = 2000});
  const double half = attention.ms({.requests = 1, .length = 1000, .prefix = 1000});
  EXPECT_NEAR(whole - half, 2 * 1, 1e-9);
}

TEST(CompatOperators, DecodingIsTheMeanOverNearLengths) {
  // The time is linear in the tokens, so that the mean over 90 to 110 % is that of the middle.
  EXPECT_NEAR(find(small_operators().generation, "generation_attention")
                  .ms({.tokens = 2, .requests = 2, .length = 2000}),
              2 * 2 * 2.0, 1e-6);
}

TEST(CompatOperators, WeightsAndTheCacheAreCounted) {
  const Operators operators = small_operators();
  const double layer = 512 * 256 + 256 * 256 + 1024 * 256 + 256 * 512;
  EXPECT_DOUBLE_EQ(operators.weight_bytes(), 2 * (2 * layer + 2 * 1000 * 256.0));
  EXPECT_DOUBLE_EQ(operators.cache_bytes_per_token, 2 * 2 * 2 * 64 * 2.0);
}

TEST(CompatOperators, TheNearestVersionsRowsCountFirst) {
  MadeTables tables = tables_of_small_model();
  std::string later = made_products({{512, 256}});
  for (std::size_t at = later.find(",1000,512,256,1"); at != std::string::npos;
       at = later.find(",1000,512,256,1", at + 1))
    later.replace(at, 15, ",1000,512,256,3");
  tables["gemm_perf"].insert(tables["gemm_perf"].begin(), later);
  Measured measured = measured_of(tables);
  const auto operators = operators_of(small_model(), {}, Engine::kTrtllm, measured);
  ASSERT_TRUE(operators.ok());
  const Asked asked{.tokens = 1000, .requests = 1, .length = 1000};
  EXPECT_DOUBLE_EQ(find(operators.value().context, "context_qkv_gemm").ms(asked), 2 * 3);
  EXPECT_DOUBLE_EQ(find(operators.value().context, "context_proj_gemm").ms(asked), 2);
}

TEST(CompatOperators, WhatNoRowAnswersIsNamed) {
  MadeTables tables = tables_of_small_model();
  tables.erase("generation_attention_perf");
  Measured measured = measured_of(tables);
  const auto operators = operators_of(small_model(), {}, Engine::kTrtllm, measured);
  ASSERT_FALSE(operators.ok());
  EXPECT_THAT(operators.error().message, testing::HasSubstr("answers for decoding with 4"));
}

TEST(CompatOperators, AnUnknownListIsRefused) {
  serving::Model model = small_model();
  model.layers.front().layer.mixer = serving::DeltaNet{};
  EXPECT_FALSE(kind_of(model).ok());
}

TEST(CompatOperators, EightBitsBringACacheInFp8) {
  const serving::Precision fp8 = serving::weights_of(Quantization::kFp8Block);
  EXPECT_EQ(assumed_precision(Engine::kTrtllm, fp8).cache, Quantization::kFp8);
  EXPECT_EQ(assumed_precision(Engine::kTrtllm, fp8).attention, Quantization::kFp8);
  EXPECT_EQ(assumed_precision(Engine::kVllm, fp8).attention, Quantization::kBfloat16);
}

TEST(CompatOperators, MessagesBeyondTheMeasuredSizesGrowInProportion) {
  Measured measured = measured_of(
      {{"custom_allreduce_perf",
        {"framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,"
         "latency,backend\n"
         "F,1,D,all_reduce,k,bfloat16,8,1024,0.1,k\nF,1,D,all_reduce,k,bfloat16,8,4096,0.2,k\n"
         "F,1,D,all_reduce,k_eager,bfloat16,8,2048,9,k_eager\n"}}});
  const auto time = all_reduce_time(measured, 1024, 8);
  ASSERT_TRUE(time.ok());
  EXPECT_DOUBLE_EQ(time.value()({.tokens = 2}), 0.1 + 0.1 / 3);  // no row of an eager launch
  EXPECT_DOUBLE_EQ(time.value()({.tokens = 8}), 0.4);
  // Over 16 GPUs the slower links between nodes count: 15/16 over 7/8, at a tenth of the bandwidth.
  const auto across = all_reduce_time(measured, 1024, 16);
  ASSERT_TRUE(across.ok());
  EXPECT_NEAR(across.value()({.tokens = 4}), 0.2 * (15.0 / 16) / (7.0 / 8) * 10, 1e-9);
}

TEST(CompatOperators, ScalingIsTakenOffProductsInFp8) {
  const std::string head = "framework,version,device,op_name,kernel_source,";
  std::string products = head + "gemm_dtype,m,n,k,latency\n";
  for (const int m : {1, 1000})
    products += fmt::format("F,1,D,gemm,k,fp8,{},256,256,5\n", m);
  const auto scales = [&](double ms) {
    std::string csv = head + "m,k,quant_dtype,latency\n";
    for (const int m : {1, 1000}) {
      for (const int k : {128, 512})
        csv += fmt::format("F,1,D,scale,k,{},{},fp8,{}\n", m, k, ms);
    }
    return csv;
  };
  Measured measured = measured_of({{"gemm_perf", {products}},
                                   {"computescale_perf", {scales(1)}},
                                   {"scale_matrix_perf", {scales(0.5)}}});
  const Product plain{.n = 256, .k = 256, .weights = Quantization::kFp8};
  const Product scaled{.n = 256, .k = 256, .weights = Quantization::kFp8, .has_scaled_input = true};
  EXPECT_DOUBLE_EQ(product_time(measured, plain).value()({.tokens = 1000}), 4);
  EXPECT_DOUBLE_EQ(product_time(measured, scaled).value()({.tokens = 1000}), 3.5);
  // Beyond the measured sizes, applying grows with them and computing does not.
  EXPECT_DOUBLE_EQ(product_time(measured, scaled).value()({.tokens = 2000}) -
                       product_time(measured, plain).value()({.tokens = 2000}),
                   -1);
}

serving::Model small_latent_model() {
  auto model = serving::parse_model(
      R"({"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 256, "intermediate_size": 512,
          "moe_intermediate_size": 128, "n_routed_experts": 8, "n_shared_experts": 1,
          "num_experts_per_tok": 2, "first_k_dense_replace": 1, "num_hidden_layers": 4,
          "num_attention_heads": 4, "q_lora_rank": 64, "kv_lora_rank": 512,
          "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
          "vocab_size": 1000})",
      "latent");
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  return std::move(model).value();
}

MadeTables tables_of_latent_model() {
  const std::string head = "framework,version,device,op_name,kernel_source,";
  const std::string module = head +
                             "model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,"
                             "batch_size,isl,tp_size,step,latency\n";
  std::string prompts = module;
  std::string decodes = module;
  for (const int requests : {1, 4}) {
    for (const int tokens : {1, 1000}) {
      const char* row = "F,1,D,mla,k,M,A,bfloat16,bfloat16,bfloat16,4,{},{},1,{},{}\n";
      prompts += fmt::format(fmt::runtime(row), requests, tokens, 0, 3.0);
      decodes += fmt::format(fmt::runtime(row), requests, 1, tokens, 2.0);
    }
  }
  std::string experts = head +
                        "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
                        "moe_ep_size,distribution,latency\n";
  for (const int tokens : {1, 10000})
    experts += fmt::format("F,1,D,moe,k,bfloat16,{},256,128,2,8,1,1,uniform,7\n", tokens);
  return {{"gemm_perf",
           {made_products({{640, 256},
                           {768, 64},
                           {1024, 512},
                           {256, 512},
                           {256, 256},
                           {256, 128},
                           {8, 256},
                           {1000, 256}})}},
          {"mla_context_module_perf", {prompts}},
          {"mla_generation_module_perf", {decodes}},
          {"moe_perf", {experts}}};
}

TEST(CompatOperators, LatentAttentionIsABlockWhereItWasMeasuredWhole) {
  Measured measured = measured_of(tables_of_latent_model());
  const auto bound = operators_of(small_latent_model(), {}, Engine::kTrtllm, measured);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  const Operators& operators = bound.value();
  const Asked prompt{.tokens = 1000, .requests = 1, .length = 1000};
  EXPECT_DOUBLE_EQ(find(operators.context, "context_mla_block").ms(prompt), 4 * 3);
  const Asked decode{.tokens = 1, .requests = 1, .length = 1001};
  EXPECT_DOUBLE_EQ(find(operators.generation, "generation_mla_block").ms(decode), 4 * 2);
  EXPECT_DOUBLE_EQ(operators.cache_bytes_per_token, 4 * 576 * 2);
}

TEST(CompatOperators, SharedExpertsDecodeBesideTheOthers) {
  Measured measured = measured_of(tables_of_latent_model());
  const auto bound = operators_of(small_latent_model(), {}, Engine::kTrtllm, measured);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  const Operators& operators = bound.value();
  // All four layers count as mixtures, which take 7 ms and a router's product each.
  const Asked asked{.tokens = 1000, .requests = 1000, .length = 1000};
  const double routed = 4 * (7 + 1.0);
  EXPECT_DOUBLE_EQ(find(operators.generation, "generation_moe_overlap").ms(asked), routed);
  EXPECT_DOUBLE_EQ(find(operators.context, "context_moe").ms(asked), 4 * 7);
  EXPECT_DOUBLE_EQ(find(operators.context, "context_shared_gate_up_gemm").ms(asked), 4 * 1);
}

TEST(CompatSteps, DecodingIsTakenEvery32ndStep) {
  const Operators operators = small_operators();
  const Lengths lengths{.prompt = 1000, .output = 65};
  const auto times = decode_times(operators, 1, lengths);
  const Operator attention = find(operators.generation, "generation_attention");
  const double first = attention.ms({.tokens = 1, .requests = 1, .length = 1001});
  const double second = attention.ms({.tokens = 1, .requests = 1, .length = 1033});
  EXPECT_NEAR(times[3].ms, 32 * first + 32 * second, 1e-9);
}

TEST(CompatSteps, AMixedStepSharesAllButAttention) {
  const Operators operators = small_operators();
  const Lengths lengths{.prompt = 1000, .output = 100};
  const Asked shared{.tokens = 1003, .requests = 1, .length = 1003};
  double sum = 0;
  for (const Operator& one : operators.context) {
    if (one.kind == Kind::kShared) sum += one.ms(shared);
  }
  sum += find(operators.context, "context_logits_gemm").ms({.tokens = 1, .requests = 1});
  sum += find(operators.context, "context_attention").ms({.requests = 1, .length = 1000});
  sum += find(operators.generation, "generation_attention").ms({.requests = 3, .length = 1051});
  EXPECT_NEAR(mixed_step_ms(operators, 1000, 3, lengths), sum, 1e-9);
}

TEST(CompatSteps, AChunkPaysForItsPartOfAttention) {
  const Operators operators = small_operators();
  const Lengths lengths{.prompt = 2000, .output = 100};
  const Asked half{.tokens = 1000, .requests = 1, .length = 1000};
  double sum = find(operators.context, "context_attention").ms({.requests = 1, .length = 2000}) / 2;
  for (const Operator& one : operators.context) {
    if (one.kind == Kind::kShared) sum += one.ms(half);
  }
  sum += find(operators.context, "context_logits_gemm").ms({.tokens = 1, .requests = 1});
  EXPECT_NEAR(mixed_step_ms(operators, 1000, 0, lengths), sum, 1e-9);
}

TEST(CompatSteps, DraftsMultiplyRequestsAndDivideTheTimeOfATokenByWhatComesOut) {
  const Operators operators = small_operators();
  const Lengths drafting{.prompt = 1000, .output = 101, .drafts = 2, .accepted = 1.5};
  EXPECT_DOUBLE_EQ(drafting.iterations(), 1 + 100 / 2.5);
  const double layers = static_cast<double>(operators.layers);
  double sum = 0;
  for (const Operator& one : operators.generation)
    sum += one.ms({.tokens = 12, .requests = 12, .length = 1051});
  EXPECT_NEAR(decode_step_ms(operators, 4, drafting), (layers + 2) / layers * sum, 1e-9);
  // What comes out of a step divides the sum of static batching.
  const Lengths same{.prompt = 1000, .output = 101, .drafts = 2, .accepted = 0};
  EXPECT_NEAR(sum_ms(decode_times(operators, 4, same)),
              2.5 * sum_ms(decode_times(operators, 4, drafting)), 1e-9);
  const Asked shared{.tokens = 1012, .requests = 1, .length = 1012};
  double mixed =
      find(operators.context, "context_logits_gemm").ms({.tokens = 1, .requests = 1}) +
      find(operators.context, "context_attention").ms({.requests = 1, .length = 1000}) +
      (layers + 2) / layers *
          find(operators.generation, "generation_attention").ms({.requests = 12, .length = 1051});
  for (const Operator& one : operators.context) {
    if (one.kind == Kind::kShared) mixed += one.ms(shared);
  }
  EXPECT_NEAR(mixed_step_ms(operators, 1000, 4, drafting), mixed, 1e-9);
}

}  // namespace
}  // namespace assay::plan::compat
