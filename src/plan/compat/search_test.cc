#include "plan/compat/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/compat/compat_test_util.h"

namespace assay::plan::compat {
namespace {

// Operators whose steps take the same time, whatever they compute.
Operators steady_operators(double prompt_ms, double decode_ms) {
  const auto always = [](double ms) { return [ms](const Asked& /*asked*/) { return ms; }; };
  return {.context = {{.name = "context", .weight_bytes = 1e9, .ms = always(prompt_ms)}},
          .generation = {{.name = "generation", .ms = always(decode_ms)}},
          .cache_bytes_per_token = 1e4};
}

Setting setting_of(Engine engine) {
  return {.engine = engine, .version = "0.24.0", .lengths = {.prompt = 1000, .output = 101}};
}

AggregatedPoint point_of(Engine engine, std::int64_t batch, std::int64_t tokens) {
  return aggregated_point(small_model(), {}, steady_operators(10, 2), made_facts(),
                          setting_of(engine), {.batch = batch, .prompt_tokens = tokens});
}

TEST(CompatAggregated, TensorRtLlmDrainsForThreeSteps) {
  // 8 prompts of 1000 in steps of 1000 are 8 mixed steps, of which 5 count, and 93 that decode.
  const AggregatedPoint point = point_of(Engine::kTrtllm, 8, 1000);
  EXPECT_DOUBLE_EQ(point.tpot_ms, (5 * 10 + 93 * 2.0) / 98);
  EXPECT_DOUBLE_EQ(point.ttft_ms, 10 * (2 + 5 / 20.0));
  EXPECT_DOUBLE_EQ(point.tokens_per_s, 1000.0 / (8 * 10 + 93 * 2) * 8 * 100);
  EXPECT_DOUBLE_EQ(point.requests_per_s, point.tokens_per_s / 100);
}

TEST(CompatAggregated, VllmWaitsByItsBatch) {
  const AggregatedPoint point = point_of(Engine::kVllm, 8, 1000);
  EXPECT_DOUBLE_EQ(point.tpot_ms, (8 * 10 + 93 * 2.0) / 101);
  EXPECT_DOUBLE_EQ(point.ttft_ms, (10 + 0.8 * 2) * (1 + 3.0 / 8));
  EXPECT_DOUBLE_EQ(point.tokens_per_s, 8 * 100 * 1000 / (point.ttft_ms + 100 * point.tpot_ms));
}

TEST(CompatAggregated, OneRequestDecodesAlone) {
  const AggregatedPoint point = point_of(Engine::kTrtllm, 1, 1000);
  EXPECT_DOUBLE_EQ(point.tpot_ms, 2);
  EXPECT_DOUBLE_EQ(point.tokens_per_s, 1000.0 / (10 + 100 * 2) * 100);
}

TEST(CompatAggregated, PromptsThatNeverEndLeaveFewThatDecode) {
  const Lengths lengths{.prompt = 1000, .output = 100};
  EXPECT_EQ(decodes_beside(Engine::kTrtllm, 200, 1000, lengths), 100);
  EXPECT_EQ(decodes_beside(Engine::kVllm, 200, 1000, lengths), 199);
  EXPECT_EQ(decodes_beside(Engine::kTrtllm, 8, 2000, lengths), 6);
}

TEST(CompatAggregated, TokensOfAStepAreWholePrompts) {
  EXPECT_THAT(step_tokens(4000), testing::ElementsAre(4000, 8000));
  EXPECT_THAT(step_tokens(2048), testing::ElementsAre(2048, 4096, 6144, 8192));
  EXPECT_THAT(step_tokens(10000), testing::ElementsAre(10000, 20000));
}

TEST(CompatMemory, ItsPartsFollowThePublicFormula) {
  const MemoryParts memory =
      memory_of(small_model(), {.tp = 2}, Engine::kTrtllm, steady_operators(10, 2), made_facts(),
                {.tokens = 100000, .requests = 8, .request_tokens = 1101});
  EXPECT_DOUBLE_EQ(memory.weights, 1e9);
  EXPECT_DOUBLE_EQ(memory.activations, 2.0 * 100000 * 256 * 6.5);
  EXPECT_DOUBLE_EQ(memory.cache, 8 * 1101 * 1e4);
  EXPECT_DOUBLE_EQ(memory.collectives, 1e6);
  EXPECT_DOUBLE_EQ(memory.others, 1e9);
  const MemoryParts few =
      memory_of(small_model(), {}, Engine::kSglang, steady_operators(10, 2), made_facts(),
                {.tokens = 1, .requests = 1, .request_tokens = 1});
  EXPECT_DOUBLE_EQ(few.activations, 90.0 * 1024 * 1024 * 1.15);
  EXPECT_DOUBLE_EQ(few.others, 1.2e9);
}

TEST(CompatMemory, TheCacheGetsAShareOfWhatIsFree) {
  const SystemFacts facts = made_facts();
  const double budget = (1e11 - 2e10) * 0.9 * 0.985 * 0.98;
  EXPECT_TRUE(fits(Engine::kTrtllm, "", Serving::kAggregated, {}, facts,
                   {.weights = 2e10, .cache = budget - 1}));
  EXPECT_FALSE(fits(Engine::kTrtllm, "", Serving::kAggregated, {}, facts,
                    {.weights = 2e10, .cache = budget + 1}));
  EXPECT_TRUE(fits(Engine::kVllm, "0.24.0", Serving::kAggregated, {}, facts,
                   {.weights = 2e10, .cache = 1e11 * 0.92 * 0.98 - 2e10 - 1}));
  EXPECT_FALSE(fits(Engine::kVllm, "0.19.0", Serving::kAggregated, {}, facts,
                    {.weights = 2e10, .cache = 1e11 * 0.92 * 0.98 - 2e10 - 1}));
}

TEST(CompatDisaggregated, WorkersHaveTheirCorrections) {
  const auto prompts = prompt_workers(small_model(), {.tp = 2}, steady_operators(100, 2),
                                      made_facts(), setting_of(Engine::kTrtllm));
  ASSERT_EQ(prompts.size(), 1U);
  EXPECT_DOUBLE_EQ(prompts.front().ttft_ms, 110);
  EXPECT_DOUBLE_EQ(prompts.front().requests_per_s, rounded(1000 / 110.0));
  EXPECT_DOUBLE_EQ(prompts.front().requests_per_s_per_gpu, rounded(500 / 110.0));
  const auto decodes = decode_workers(small_model(), {}, steady_operators(100, 2), made_facts(),
                                      setting_of(Engine::kTrtllm));
  ASSERT_FALSE(decodes.empty());
  EXPECT_DOUBLE_EQ(decodes.front().tpot_ms, 2.16);
  EXPECT_EQ(decodes.back().batch, 512);
}

PhaseWorker worker_of_rate(std::int64_t gpus, std::int64_t batch, double rate, double ms) {
  return {.worker = {.tp = gpus},
          .batch = batch,
          .ttft_ms = ms,
          .tpot_ms = ms,
          .requests_per_s = rate,
          .requests_per_s_per_gpu = rate / static_cast<double>(gpus),
          .tokens_per_s_per_user = 1000 / ms};
}

TEST(CompatDisaggregated, UnitsMatchTheRatesOfBothPhases) {
  // A worker of prompts feeds two that decode: 0.9 x 4 of 2 x 0.92 x 2.
  const auto units =
      disaggregated_points({worker_of_rate(1, 1, 4, 100)}, {worker_of_rate(1, 8, 2, 10.5)},
                           setting_of(Engine::kTrtllm), 1000, 8);
  ASSERT_FALSE(units.empty());
  const DisaggregatedPoint& unit = units.front();
  EXPECT_DOUBLE_EQ(unit.ttft_ms, 180);
  EXPECT_EQ(unit.gpus(), 8);
  EXPECT_EQ(unit.prompt_workers, 3);
  EXPECT_EQ(unit.decode_workers, 5);
  EXPECT_DOUBLE_EQ(unit.requests_per_s, std::min(3 * 4 * 0.9, 5 * 2 * 0.92));
  EXPECT_EQ(unit.concurrency(), 40);
}

TEST(CompatDisaggregated, ATtftBeyondTheLimitIsNoUnit) {
  EXPECT_TRUE(disaggregated_points({worker_of_rate(1, 1, 4, 100)}, {worker_of_rate(1, 8, 2, 10)},
                                   setting_of(Engine::kTrtllm), 180, 8)
                  .empty());
}

TEST(CompatDisaggregated, SglangWantsEqualHeads) {
  EXPECT_TRUE(disaggregated_points({worker_of_rate(2, 1, 4, 100)}, {worker_of_rate(1, 8, 2, 10)},
                                   setting_of(Engine::kSglang), 1000, 8)
                  .empty());
}

Offer offer(const char* parallel, std::int64_t gpus, double tokens, double tpot) {
  return {.parallel = parallel,
          .gpus = gpus,
          .concurrency = 10,
          .tpot_ms = tpot,
          .requests_per_s = tokens * static_cast<double>(gpus) / 1000,
          .tokens_per_s_per_gpu = tokens,
          .tokens_per_s_per_user = 1000 / tpot};
}

TEST(CompatPicks, TheBestOfEachGroupThatKeepsTheLimit) {
  const auto picks = pick_for_gpus({offer("a", 1, 900, 40), offer("a", 1, 500, 20),
                                    offer("b", 2, 600, 25), offer("c", 3, 620, 25)},
                                   4, 30, 5);
  ASSERT_EQ(picks.size(), 3U);
  EXPECT_EQ(picks[0].offer.parallel, "b");
  EXPECT_EQ(picks[0].copies, 2);
  EXPECT_EQ(picks[1].offer.tokens_per_s_per_gpu, 500);
  // Three of four GPUs work.
  EXPECT_DOUBLE_EQ(picks[2].cluster_tokens_per_s_per_gpu, 465);
}

TEST(CompatPicks, WhereNoneKeepsTheLimitTheNearestComesFirst) {
  const auto picks = pick_for_gpus({offer("a", 1, 900, 40), offer("b", 2, 600, 35)}, 4, 30, 5);
  ASSERT_EQ(picks.size(), 2U);
  EXPECT_EQ(picks[0].offer.parallel, "b");
}

TEST(CompatPicks, ALoadTakesTheFewestGpus) {
  const std::vector<Offer> offers = {offer("a", 1, 500, 20), offer("b", 4, 600, 25)};
  const auto picks = pick_for_load(offers, {.requests_per_s = 5}, 30, 5);
  ASSERT_EQ(picks.size(), 2U);
  EXPECT_EQ(picks[0].offer.parallel, "a");
  EXPECT_EQ(picks[0].copies, 10);
  EXPECT_EQ(picks[1].gpus(), 12);
  EXPECT_EQ(pick_for_load(offers, {.concurrency = 35}, 30, 1).front().copies, 4);
}

TEST(CompatPicks, TheFrontierHasNoPointThatAnotherBeats) {
  const auto frontier =
      frontier_of({offer("a", 1, 500, 20), offer("b", 1, 400, 25), offer("c", 1, 700, 40)}, 4);
  ASSERT_EQ(frontier.size(), 2U);
  EXPECT_EQ(frontier[0].offer.parallel, "c");
  EXPECT_EQ(frontier[1].offer.parallel, "a");
}

TEST(CompatSearch, WorkersSuitTheEngine) {
  EXPECT_EQ(tried_workers(small_model(), Engine::kTrtllm, 32).size(), 4U);
  serving::Model mixture = small_model();
  mixture.layers.front().layer.feed_forward = serving::Experts{.count = 8};
  for (const Worker& worker : tried_workers(mixture, Engine::kTrtllm, 8))
    EXPECT_TRUE(worker.tp == 1 || worker.dp == 1) << worker.text();
  for (const Worker& worker : tried_workers(mixture, Engine::kVllm, 8))
    EXPECT_TRUE(worker.moe_tp == 1 || worker.moe_ep == 1) << worker.text();
}

TEST(CompatSearch, ASmallModelIsSearchedInBothModes) {
  Measured measured = measured_of(tables_of_small_model());
  const SearchAsked asked{.setting = setting_of(Engine::kTrtllm),
                          .gpus = 4,
                          .ttft_limit_ms = 1e4,
                          .tpot_limit_ms = 300};
  const auto found = search(small_model(), asked, measured);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_FALSE(found.value().aggregated.picks.empty());
  EXPECT_EQ(found.value().aggregated.picks.front().copies, 4);
  ASSERT_FALSE(found.value().disaggregated.picks.empty());
  // The tables have the heads of a whole model only.
  ASSERT_EQ(found.value().left_out.size(), 2U);
  EXPECT_THAT(found.value().left_out.front().reason, testing::HasSubstr("answers for attention"));
}

}  // namespace
}  // namespace assay::plan::compat
