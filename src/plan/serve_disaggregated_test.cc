#include "plan/serve_disaggregated.h"

#include <gtest/gtest.h>

#include "model/serving/family.h"
#include "plan/schedule/step_costs_test_util.h"
#include "plan/search/pool_prices.h"

namespace assay::plan {
namespace {

using testing::LinearCost;

ServedWorker pool_worker(Engine engine) {
  return {
      .engine = engine, .deployment = {.tp = 1, .moe_tp = 1}, .memory = {.capacity_bytes = 140e9}};
}

// One request: a prompt of 100 tokens in 11 ms, 4 ms of transfer, and 10 tokens of 2 ms each.
TEST(ServeDisaggregated, OneRequestByHand) {
  const auto model = serving::read_model("qwen3-8b").value();
  const LinearCost prompts(1, 0.1);
  const LinearCost tokens(2);
  for (const Engine engine : kEngines) {
    const auto metrics =
        serve_disaggregated(
            model,
            {.prefill = {pool_worker(engine), 1},
             .decode = {pool_worker(engine), 1},
             .transfer = {.bytes_per_token = 1e4, .gbps = 1, .latency_ms = 3}},
            prompts, tokens,
            {.concurrency = 1, .prompt_tokens = 100, .output_tokens = 11, .requests_each = 1})
            .value();
    EXPECT_NEAR(metrics.serving.ttft_ms.mean, 11 + 4, 1e-9) << name_of(engine);
    EXPECT_GE(metrics.serving.tpot_ms.mean, 2) << name_of(engine);
    EXPECT_LE(metrics.serving.tpot_ms.mean, 2.2) << name_of(engine);
  }
}

// Little's law says that as many requests are in flight as come in the time that one takes. It
// holds also where prompts are computed in batches, whose short answers end together.
TEST(ServeDisaggregated, ShortAnswersKeepLittlesLaw) {
  const auto model = serving::read_model("qwen3-8b").value();
  const LinearCost prompts(1, 0.1);
  const LinearCost tokens(20);
  constexpr std::int64_t kInFlight = 250;
  constexpr std::int64_t kAnswer = 10;
  const auto metrics =
      serve_disaggregated_steadily(
          model,
          {.prefill = {pool_worker(Engine::kVllm), 6},
           .prefill_batch = 32,
           .decode = {pool_worker(Engine::kVllm), 1},
           .transfer = {.bytes_per_token = 1e4, .gbps = 100, .latency_ms = 1}},
          prompts, tokens,
          {.concurrency = kInFlight, .prompt_tokens = 100, .output_tokens = kAnswer}, 0.1)
          .value();
  EXPECT_GT(metrics.ttft_ms, 0);
  const double latency_ms = metrics.ttft_ms + (kAnswer - 1) * metrics.tpot_ms;
  EXPECT_NEAR(metrics.requests_per_s * latency_ms / 1000 / kInFlight, 1, 0.15);
}

TEST(ServeDisaggregated, PromptsAreComputedInBatchesOfTheirOwn) {
  const auto model = serving::read_model("qwen3-8b").value();
  const ClosedLoop load{.prompt_tokens = 3000, .output_tokens = 100};
  const Limits two = prefill_limits(model, pool_worker(Engine::kTrtllm), 2, load).value();
  EXPECT_EQ(two.max_batch, 2);
  EXPECT_GE(two.max_tokens, 6000);
  EXPECT_LT(two.max_tokens, 9000);
  EXPECT_EQ(two.overlap, Limits::Overlap::kNone);
  EXPECT_EQ(prefill_limits(model, pool_worker(Engine::kVllm), 1, load).value().max_tokens, 8192);
}

// 1 ms a step and 0.1 ms a token, as in LinearCost.
TEST(PoolPrices, PromptsTakeTheStepsThatTheirTokensNeed) {
  const LinearCost cost(1, 0.1);
  EXPECT_DOUBLE_EQ(prompts_ms(cost, 1, 1000, 0, 8192), 101);
  EXPECT_DOUBLE_EQ(prompts_ms(cost, 4, 1000, 0, 8192), 401);
  EXPECT_DOUBLE_EQ(prompts_ms(cost, 4, 1000, 0, 2048), 402);
  EXPECT_DOUBLE_EQ(prompts_ms(cost, 1, 10000, 0, 4096), 1003);
  EXPECT_DOUBLE_EQ(prompts_ms(cost, 2, 1000, 400, 8192), 121);
}

TEST(PoolPrices, LengthsAreMeans) {
  SearchRequest request;
  request.prompt_tokens = 1000;
  request.output_tokens = 1;
  request.least_length = 0.8;
  EXPECT_EQ(mean_lengths(request).prompt_tokens, 900);
  EXPECT_EQ(mean_lengths(request).output_tokens, 1);
}

// What is measured is over before any of so many prompts has ended, unless it is as long as they
// are.
TEST(ServeDisaggregated, ManyInstancesHaveATtftToo) {
  const auto model = serving::read_model("qwen3-8b").value();
  const LinearCost prompts(50, 0.1);
  const LinearCost tokens(20);
  const auto metrics =
      serve_disaggregated_steadily(
          model,
          {.prefill = {pool_worker(Engine::kVllm), 2000},
           .prefill_batch = 1,
           .decode = {pool_worker(Engine::kVllm), 200},
           .transfer = {.bytes_per_token = 1e4, .gbps = 100, .latency_ms = 1}},
          prompts, tokens, {.concurrency = 150'000, .prompt_tokens = 100, .output_tokens = 300},
          0.01)
          .value();
  EXPECT_GE(metrics.ttft_ms, 60 + 1);
  EXPECT_LE(metrics.ttft_ms, 200);
}

}  // namespace
}  // namespace assay::plan
