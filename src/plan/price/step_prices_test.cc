#include "plan/price/step_prices.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <utility>

#include "model/serving/family.h"
#include "model/warnings.h"
#include "plan/load_costs.h"
#include "plan/schedule/simulate.h"
#include "plan/uncertainty/step_parts.h"
#include "store/files/csv_frame.h"

namespace assay::plan {
namespace {

// One layer: 4 heads of 64, 2 of keys and values.
constexpr const char* kModel = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 256,
    "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
    "num_hidden_layers": 1, "vocab_size": 1000})";

serving::Model small_model() {
  auto model = serving::parse_model(kModel, "small");
  EXPECT_TRUE(model.ok());
  return std::move(model).value();
}

// Products take 1 ms and another 1 ms for 1000 rows, whatever their shape.
std::string products() {
  std::string csv = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
  for (const auto& [n, k] : std::vector<std::pair<int, int>>{
           {512, 256}, {256, 256}, {1024, 256}, {256, 512}, {1000, 256}}) {
    for (const int m : {1, 1000, 2000, 4000})
      csv += fmt::format("F,1,D,gemm,k,bfloat16,{},{},{},{}\n", m, n, k, 1 + m / 1000.0);
  }
  return csv;
}

// A prompt takes 1 ms for 1000 tokens of each request.
std::string prompts() {
  std::string csv =
      "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,"
      "num_key_value_heads,head_dim,window_size,beam_width,attn_dtype,kv_cache_dtype,step,latency"
      "\n";
  for (const int requests : {1, 2, 4}) {
    for (const int tokens : {1, 1000, 2000, 4000}) {
      csv += fmt::format("F,1,D,context_attention,k,{},{},4,2,64,0,1,bfloat16,bfloat16,0,{}\n",
                         requests, tokens, requests * tokens / 1000.0);
    }
  }
  return csv;
}

// Decoding takes 1 ms for 1000 tokens in the cache of each request.
std::string decoding() {
  std::string csv =
      "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,"
      "num_key_value_heads,head_dim,window_size,beam_width,attn_dtype,kv_cache_dtype,step,latency"
      "\n";
  for (const int requests : {1, 2, 4}) {
    for (const int cached : {0, 1024, 2048, 4096, 8192, 16384}) {
      csv += fmt::format("F,1,D,generation_attention,k,{},1,4,2,64,0,1,bfloat16,bfloat16,{},{}\n",
                         requests, cached, requests * (cached + 1) / 1000.0);
    }
  }
  return csv;
}

TableSource source_of(const std::string& table,
                      const std::string& csv,
                      const std::string& name,
                      Fidelity fidelity = Fidelity::kEngine) {
  return {name, fidelity, [=]() -> core::Result<TableSource::Index> {
            model::Warnings warnings;
            const auto frame =
                ASSAY_TRY(store::read_csv_frame(csv, warnings, {.text_columns = {"version"}}));
            return std::make_shared<const store::WorkIndex>(
                ASSAY_TRY(store::WorkIndex::make(table, frame, nullptr)));
          }};
}

// Memory operators take 1 ms.
store::RooflineBinder a_millisecond(const std::string& table) {
  if (table != "memory_op_perf") return nullptr;
  return [](const auto&, const auto&) { return [](std::span<const double>) { return 1.0; }; };
}

store::CostBinder no_cost(const std::string&) {
  return nullptr;
}

core::Result<std::vector<TableSource>> load_made(const std::string& table) {
  std::vector<TableSource> sources;
  if (table == "gemm_perf") sources.push_back(source_of(table, products(), "made"));
  if (table == "context_attention_perf") sources.push_back(source_of(table, prompts(), "made"));
  if (table == "generation_attention_perf") sources.push_back(source_of(table, decoding(), "made"));
  return sources;
}

StepPrices made_prices() {
  Tables tables(std::nullopt, load_made, a_millisecond, no_cost);
  auto prices = StepPrices::bind(small_model(), {}, tables);
  EXPECT_TRUE(prices.ok()) << (prices.ok() ? "" : prices.error().message);
  return std::move(prices).value();
}

core::Result<StepPrices> prices_with_window(std::int64_t window, std::int64_t most_tokens) {
  serving::Model model = small_model();
  std::get<serving::Attention>(model.layers.front().layer.mixer).window = window;
  Tables tables(std::nullopt, load_made, a_millisecond, no_cost);
  return StepPrices::bind(model, {.most_tokens = most_tokens}, tables);
}

// The time of attention in a step of the small model, which attends to chunks of so many tokens.
double chunked_attention_ms(std::int64_t chunk, const Step& step, std::int64_t most_tokens = 0) {
  serving::Model model = small_model();
  auto& attention = std::get<serving::Attention>(model.layers.front().layer.mixer);
  attention.window = chunk;
  attention.is_chunked = true;
  Tables tables(std::nullopt, load_made, a_millisecond, no_cost);
  const auto prices = StepPrices::bind(model, {.most_tokens = most_tokens}, tables);
  EXPECT_TRUE(prices.ok()) << (prices.ok() ? "" : prices.error().message);
  double all = 0;
  double sum = 0;
  for (const OperatorCost& one : prices.value().operators(step)) {
    all += one.cost.ms;
    if (one.price->use().role == "attention to chunks") sum += one.cost.ms;
  }
  EXPECT_NEAR(prices.value().ms(step), all, 0.01 * all);
  return sum;
}

// 500 tokens are left of the third chunk, whose first 500 are a quarter of its work; 1000 are the
// fourth.
TEST(StepPrices, APromptHasTheKeysOfItsChunksAlone) {
  constexpr std::array<Chunks, 1> kRest = {
      Chunks{.requests = 1, .new_tokens = 1500, .cached_tokens = 2500}};
  EXPECT_NEAR(chunked_attention_ms(1000, {.chunks = kRest}), 0.75 * 1.0 + 1.0, 0.001);
  constexpr std::array<Chunks, 1> kWhole = {Chunks{.requests = 1, .new_tokens = 2000}};
  EXPECT_NEAR(chunked_attention_ms(1000, {.chunks = kWhole}), 2.0, 0.001);
}

// The range from 18432 to 22528 tokens is two chunks, in which a request has 1024 keys in the mean.
TEST(StepPrices, RequestsThatDecodeHaveHalfAChunkOfKeysInTheMean) {
  EXPECT_NEAR(chunked_attention_ms(2048, {.decodes = 4, .decode_cached = 20480}), 4 * 1.025, 1e-6);
  EXPECT_NEAR(chunked_attention_ms(2048, {.decodes = 4, .decode_cached = 1024}), 4 * 1.025, 1e-6);
}

TEST(StepPrices, AChunkThatNoRequestExceedsChangesNothing) {
  const Step step{.decodes = 4, .decode_cached = 2048};
  EXPECT_NEAR(chunked_attention_ms(2048, step, 2048), 4 * 2.049, 1e-6);
}

TEST(StepPrices, AWindowThatNoRequestExceedsChangesNothing) {
  const StepPrices plain = made_prices();
  const auto windowed = prices_with_window(4096, 4096);
  ASSERT_TRUE(windowed.ok()) << windowed.error().message;
  const Chunks prompt{.requests = 1, .new_tokens = 3000};
  const Step mixed{.chunks = std::span(&prompt, 1), .finished_prompts = 1};
  EXPECT_DOUBLE_EQ(windowed.value().ms(mixed), plain.ms(mixed));
  const Step decoding{.decodes = 3, .decode_cached = 3500};
  EXPECT_DOUBLE_EQ(windowed.value().ms(decoding), plain.ms(decoding));
}

TEST(StepPrices, AWindowThatARequestExceedsNeedsRowsOfItsOwn) {
  for (const std::int64_t most : {0, 4097}) {
    const auto windowed = prices_with_window(4096, most);
    ASSERT_FALSE(windowed.ok()) << most;
    EXPECT_THAT(windowed.error().message,
                ::testing::HasSubstr("requests of at most 4096 tokens are priced without"));
  }
}

// Experts take 1 ms for 1000 tokens, everything else nothing.
StepPrices prices_of_experts(std::int64_t groups) {
  auto model = serving::parse_model(R"({"architectures": ["MixtralForCausalLM"],
      "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 1, "vocab_size": 1000,
      "num_local_experts": 8, "num_experts_per_tok": 2})",
                                    "mixture");
  EXPECT_TRUE(model.ok());
  const auto no_rows = [](const std::string&) { return std::vector<TableSource>(); };
  const auto by_tokens = [](const std::string& table) -> store::RooflineBinder {
    const double ms = table == "moe_perf" ? 0.001 : 0;
    return [ms](const auto&, const auto&) {
      return [ms](std::span<const double> sizes) { return ms * sizes.front(); };
    };
  };
  Tables tables(std::nullopt, no_rows, by_tokens, no_cost);
  auto prices = StepPrices::bind(model.value(), {.moe_ep = groups}, tables);
  EXPECT_TRUE(prices.ok()) << (prices.ok() ? "" : prices.error().message);
  return std::move(prices).value();
}

// An embedding, two norms in the layer and one at the end, and an activation.
constexpr double kMemoryMs = 5;

TEST(StepPrices, AStepThatDecodesIsTheSumOfItsOperators) {
  const StepPrices prices = made_prices();
  const double ms = prices.ms({.decodes = 2, .decode_cached = 1024});
  const double products = 5 * (1 + 2 / 1000.0);
  EXPECT_NEAR(ms, kMemoryMs + products + 2 * 1.025, 0.02 * ms);
}

TEST(StepPrices, PromptsAndDecodesShareProductsButNotAttention) {
  const StepPrices prices = made_prices();
  constexpr std::array<Chunks, 1> kChunks = {Chunks{.requests = 1, .new_tokens = 998}};
  const Step mixed{.chunks = kChunks, .finished_prompts = 1, .decodes = 2, .decode_cached = 1024};
  const double products = 4 * (1 + 1000 / 1000.0);
  const double logits = 1 + 3 / 1000.0;
  EXPECT_NEAR(prices.ms(mixed), kMemoryMs + products + logits + 0.998 + 2 * 1.025,
              0.02 * prices.ms(mixed));
}

TEST(StepPrices, OnlyThePromptsThatEndNeedLogits) {
  const StepPrices prices = made_prices();
  constexpr std::array<Chunks, 1> kChunks = {Chunks{.requests = 1, .new_tokens = 1000}};
  const double whole = prices.ms({.chunks = kChunks, .finished_prompts = 1});
  const double part = prices.ms({.chunks = kChunks, .finished_prompts = 0});
  EXPECT_NEAR(whole - part, 1.001, 0.001);
}

TEST(StepPrices, AChunkPaysForTheTokensBeforeIt) {
  const StepPrices prices = made_prices();
  constexpr std::array<Chunks, 1> kFirst = {Chunks{.requests = 1, .new_tokens = 1000}};
  constexpr std::array<Chunks, 1> kSecond = {
      Chunks{.requests = 1, .new_tokens = 1000, .cached_tokens = 1000}};
  // A prompt of 2000 tokens takes 2 ms, of which the second half has three quarters of the work.
  EXPECT_NEAR(prices.ms({.chunks = kSecond}) - prices.ms({.chunks = kFirst}), 0.5, 0.01);
}

TEST(StepPrices, TheOperatorsAddUpToTheStep) {
  StepPrices prices = made_prices();
  prices.set_glue_ms(0.5);
  constexpr std::array<Chunks, 1> kChunks = {Chunks{.requests = 1, .new_tokens = 512}};
  const Step step{.chunks = kChunks, .finished_prompts = 1, .decodes = 4, .decode_cached = 2048};
  double sum = 0.5;
  for (const OperatorCost& one : prices.operators(step))
    sum += one.cost.ms;
  EXPECT_NEAR(prices.ms(step), sum, 1e-9);

  const StepPrices of_experts = prices_of_experts(4);
  double experts = 0;
  for (const OperatorCost& one : of_experts.operators({.decodes = 4, .group_tokens = 2.5}))
    experts += one.cost.ms;
  EXPECT_NEAR(experts, 0.010, 1e-9);
  EXPECT_NEAR(of_experts.ms({.decodes = 4, .group_tokens = 2.5}), experts, 1e-9);
}

TEST(StepPrices, ExpertsGetTheTokensOfAllGroups) {
  constexpr std::array<Chunks, 1> kChunks = {Chunks{.requests = 1, .new_tokens = 4000}};
  const auto ms = [&](std::int64_t groups, double group_tokens) {
    return prices_of_experts(groups).ms(
        {.chunks = kChunks, .finished_prompts = 1, .group_tokens = group_tokens});
  };
  EXPECT_NEAR(ms(1, 0), 4, 0.01);
  EXPECT_NEAR(ms(8, 0), 32, 0.1);
  // Seven groups have but a token each.
  EXPECT_NEAR(ms(8, (4000 + 7) / 8.0), 4.007, 0.01);
}

// One of each takes so many ms.
constexpr double kPromptToken = 0.001;    // of attention
constexpr double kDecodingRequest = 0.1;  // of attention
constexpr double kProductRow = 0.0001;
constexpr double kExchangedElement = 1e-6;
constexpr double kExpertToken = 0.002;
constexpr std::int64_t kHidden = 256;

// Four groups of a GPU each share the experts of a layer.
StepPrices prices_of_four_groups() {
  const auto model = serving::parse_model(R"({"architectures": ["MixtralForCausalLM"],
      "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 1, "vocab_size": 1000,
      "num_local_experts": 8, "num_experts_per_tok": 2})",
                                          "mixture");
  EXPECT_TRUE(model.ok());
  const auto no_rows = [](const std::string&) { return std::vector<TableSource>(); };
  const auto by_size = [](const std::string& table) -> store::RooflineBinder {
    const std::map<std::string, double> of_one = {{"generation_attention_perf", kDecodingRequest},
                                                  {"gemm_perf", kProductRow},
                                                  {"nccl_perf", kExchangedElement},
                                                  {"moe_perf", kExpertToken}};
    const auto found = of_one.find(table);
    const double ms = found == of_one.end() ? 0 : found->second;
    const bool is_prompt = table == "context_attention_perf";
    return [=](const auto&, const auto&) {
      return [=](std::span<const double> sizes) {
        return is_prompt ? kPromptToken * sizes[0] * sizes[1] : ms * sizes[0];
      };
    };
  };
  Tables tables(std::nullopt, no_rows, by_size, no_cost);
  auto prices = StepPrices::bind(model.value(), {.moe_ep = 4}, tables);
  EXPECT_TRUE(prices.ok()) << (prices.ok() ? "" : prices.error().message);
  return std::move(prices).value();
}

TEST(StepPrices, AStepLastsAsLongAsTheGroupWithThePrompt) {
  const StepPrices prices = prices_of_four_groups();
  Limits limits = policy_of(Engine::kVllm).defaults();
  limits.kv_tokens = 10000;
  limits.groups = 4;
  limits.groups_of_experts = 4;
  limits.graph_batches = {};
  // A request in each group, which decodes in the second step, and a prompt for the first group,
  // which comes too late for the first step.
  const Request decodes{.prompt_tokens = 1, .output_tokens = 2};
  const Request prompt{.arrival_ms = 1e-6, .prompt_tokens = 1000, .output_tokens = 1};
  const Workload workload{.requests = {decodes, decodes, decodes, decodes, prompt}};
  const auto metrics = simulate(prices, policy_of(Engine::kVllm), limits, workload);
  ASSERT_TRUE(metrics.ok()) << metrics.error().message;
  ASSERT_EQ(metrics.value().steps, 2);

  constexpr double kTokensOfPrompted = 1000 + 1;  // tokens of the group with the prompt
  constexpr double kTokensOfAll =
      kTokensOfPrompted + 3;        // those of all groups, which meet at the experts
  constexpr double kRows = 2;       // of logits
  constexpr double kProducts = 3;   // of the group's own tokens: two of attention and the router
  constexpr double kExchanges = 2;  // before and behind the experts
  const double step_ms = kPromptToken * 1000 + kDecodingRequest +
                         kProductRow * (kProducts * kTokensOfPrompted + kRows) +
                         kExchangedElement * kExchanges * kHidden * kTokensOfAll +
                         kExpertToken * kTokensOfAll;
  EXPECT_NEAR(metrics.value().tpot_ms.mean, step_ms, 1e-6);
}

TEST(StepPrices, PartsOfALoadHaveItsTokensOnce) {
  const StepPrices prices = prices_of_experts(8);
  const SteadyLoad load{.concurrency = 10,
                        .groups = 8,
                        .groups_of_experts = 8,
                        .prompt_tokens = 1000,
                        .output_tokens = 100,
                        .token_budget = 1500};
  // A step of a group has 0.1 prompts and 10 requests that decode.
  const StepParts mean = parts_of_load(costs_of_load(prices, load)).mean;
  EXPECT_NEAR(mean.experts_ms, 0.001 * 8 * (10 + 0.1 * 1000), 0.01);
}

TEST(StepPrices, AnEmptyStepTakesNothing) {
  EXPECT_EQ(made_prices().ms({}), 0);
}

TEST(StepPrices, WhatNoTableHasIsNamed) {
  Tables tables(
      std::nullopt, [](const std::string&) { return std::vector<TableSource>(); }, a_millisecond,
      no_cost);
  const auto prices = StepPrices::bind(small_model(), {}, tables);
  ASSERT_FALSE(prices.ok());
  EXPECT_THAT(prices.error().message, testing::HasSubstr("qkv projection (gemm_perf"));
}

TEST(StepPrices, RowsWithTheKeyComeBeforeNearerOnesWithout) {
  Tables tables(
      Engine::kVllm,
      [](const std::string& table) -> core::Result<std::vector<TableSource>> {
        if (table != "gemm_perf") return load_made(table);
        std::string other = products();
        for (std::size_t at = other.find(",1000,256,"); at != std::string::npos;
             at = other.find(",1000,256,"))
          other.erase(other.rfind('\n', at) + 1, other.find('\n', at) - other.rfind('\n', at));
        const std::vector<TableSource> sources = {
            source_of(table, other, "without logits"),
            source_of(table, products(), "other", Fidelity::kOtherVersion)};
        return sources;
      },
      a_millisecond, no_cost);
  const auto prices = StepPrices::bind(small_model(), {}, tables);
  ASSERT_TRUE(prices.ok());
  for (const OperatorCost& one : prices.value().operators({.decodes = 1, .decode_cached = 1})) {
    if (one.price->use().table != "gemm_perf") continue;
    const bool is_logits = one.price->use().role == "logits";
    EXPECT_EQ(one.price->source(), is_logits ? "other" : "without logits");
  }
}

TEST(StepPrices, TensorRtLlmsProductsInFp8AreWithoutTheirScales) {
  const Tables tables(Engine::kTrtllm, load_made, a_millisecond, no_cost);
  serving::OperatorUse use{.role = "qkv projection",
                           .op = "gemm",
                           .table = "gemm_perf",
                           .op_name = "gemm",
                           .key = {{"gemm_dtype", model::PerfValue(std::string("fp8"))},
                                   {"n", std::int64_t{512}},
                                   {"k", std::int64_t{256}}}};
  const auto held = tables.held_beside(use, Fidelity::kEngine);
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(held->table, "computescale_perf");
  // Those that assay measured have none, also where they stand under the engine's name.
  EXPECT_FALSE(tables.held_beside(use, Fidelity::kKernels).has_value());
  use.key.front().value = std::string("bfloat16");
  EXPECT_FALSE(tables.held_beside(use, Fidelity::kEngine).has_value());
}

constexpr const char* kPredictingModel = R"({"architectures": ["MiMoForCausalLM"],
    "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 1, "vocab_size": 1000,
    "num_nextn_predict_layers": 1})";

StepPrices drafting_prices(std::int64_t tokens) {
  Tables tables(std::nullopt, load_made, a_millisecond, no_cost);
  const auto model = serving::parse_model(kPredictingModel, "predicting");
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  auto prices = StepPrices::bind(model.value(), {.speculative_tokens = tokens}, tables);
  EXPECT_TRUE(prices.ok()) << (prices.ok() ? "" : prices.error().message);
  return std::move(prices).value();
}

TEST(StepPrices, WithoutDraftsAModelThatCouldIsPricedAsAnyOther) {
  const StepPrices plain = made_prices();
  const StepPrices none = drafting_prices(0);
  constexpr std::array<Chunks, 1> kChunks = {Chunks{.requests = 1, .new_tokens = 998}};
  for (const Step& step :
       {Step{.decodes = 2, .decode_cached = 1024},
        Step{.chunks = kChunks, .finished_prompts = 1, .decodes = 3, .decode_cached = 700}})
    EXPECT_EQ(none.ms(step), plain.ms(step));
}

TEST(StepPrices, AStepThatDraftsVerifiesAllTokensAndRunsAPassForEachDraft) {
  // Two requests with two drafted tokens each: six rows to verify; the layer that predicts runs
  // for six rows and then, for the second draft, for two. Its memory operators: an embedding, the
  // norms of token and state, two norms, an activation and the last norm, of each pass.
  const StepPrices prices = drafting_prices(2);
  const Step step{.decodes = 2, .decode_cached = 1024};
  const double six = 1 + 6 / 1000.0;
  const double two = 1 + 2 / 1000.0;
  const double products = 5 * six + (5 * six + 5 * two) + 2 * two;
  const double memory = kMemoryMs + 2 * 6;
  double attention = 0;
  double sum = 0;
  for (const OperatorCost& one : prices.operators(step)) {
    sum += one.cost.ms;
    if (one.price->use().op == "generation_attention") attention += one.cost.ms;
  }
  EXPECT_NEAR(prices.ms(step), sum, 1e-9);
  EXPECT_NEAR(sum, products + memory + attention, 0.02 * sum);
  // The made rows are bound by what the cache holds: three times the heads cost no less than once,
  // and no more than three times.
  EXPECT_GE(attention, 3 * 2 * 1.025 * 0.98);
  EXPECT_LE(attention, 7 * 2 * 1.025 * 1.02);
}

}  // namespace
}  // namespace assay::plan
