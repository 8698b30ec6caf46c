#include "plan/serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/serving/family.h"
#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr ClosedLoop kLoad{.concurrency = 8, .prompt_tokens = 30'000, .output_tokens = 1000};

TEST(ServedWorker, WindowsOfOneBatchAreKeptWholeBesideOthersAndInPrefixCaches) {
  const auto model = serving::read_model("gemma-3-27b").value();
  ServedWorker served{.deployment = {.tp = 2, .moe_tp = 2},
                      .memory = {.capacity_bytes = 1.5e11},
                      .kept = {.is_apart = true, .is_of_one_batch = true}};
  const auto held = [&](const ClosedLoop& load) {
    return memory_of_worker(model, served, load).cache_tokens;
  };
  const std::int64_t alone = held(kLoad);
  ClosedLoop with_prefix = kLoad;
  with_prefix.prefix_tokens = 1000;
  const std::int64_t whole = held(with_prefix);
  EXPECT_GT(alone, 4 * whole);
  served.groups = 2;
  EXPECT_NEAR(static_cast<double>(held(kLoad)), static_cast<double>(whole),
              0.1 * static_cast<double>(whole));
  served.groups = 1;
  served.kept = kKeptWhole;
  EXPECT_EQ(held(kLoad), whole);
}

// The caches of engines lack the states of Qwen3-Next.
TEST(ServedWorker, APrefixThatIsNotFoundIsComputedAndItsCacheTurnedOff) {
  const auto model = serving::read_model("qwen3-next-80b-a3b").value();
  ServedWorker served{.engine = Engine::kVllm,
                      .deployment = {.tp = 4, .moe_tp = 4},
                      .memory = {.capacity_bytes = 1.5e11}};
  ClosedLoop load = kLoad;
  load.prefix_tokens = 20'000;
  EXPECT_EQ(steady_load_of(served, load).cached_prefix, 20'000);
  served.kept = kept_cache(served.engine, "", Caches::kStay, model.family);
  EXPECT_EQ(steady_load_of(served, load).cached_prefix, 0);
  EXPECT_EQ(limits_of(model, served, load).value().prefix_cache, Limits::PrefixCache::kOff);
}

// Llama-3.1-70B on two GPUs has room for some 60 GB of 160 kB a token.
ServedWorker served_70b(Engine engine) {
  return {.engine = engine,
          .deployment = {.tp = 2, .moe_tp = 2},
          .memory = {.capacity_bytes = 1.5e11},
          .max_batch = 40};
}

constexpr ClosedLoop kShared{
    .concurrency = 40, .prompt_tokens = 8000, .output_tokens = 500, .prefix_tokens = 7500};

TEST(ServedWorker, APrefixIsInTheCacheOnceInWholeBlocks) {
  const auto model = serving::read_model("llama-3.1-70b").value();
  const auto shared_by = [&](Engine engine) {
    return memory_of_worker(model, served_70b(engine), kShared).shared_tokens;
  };
  EXPECT_EQ(shared_by(Engine::kVllm), 7500 / 16 * 16);
  EXPECT_EQ(shared_by(Engine::kTrtllm), 7500 / 32 * 32);
  EXPECT_EQ(shared_by(Engine::kSglang), 7500);
}

TEST(ServedWorker, RequestsWithAPrefixNeedRoomForTheirOwnTokens) {
  const auto model = serving::read_model("llama-3.1-70b").value();
  ServedWorker served = served_70b(Engine::kVllm);
  ClosedLoop load = kShared;
  const auto held = [&] {
    return held_requests(memory_of_worker(model, served, load), served, load);
  };
  const std::int64_t most = most_held(model, served, load, 1024);
  EXPECT_GT(most, 300);
  EXPECT_EQ(held(), (limits_of(model, served, load).value().kv_tokens - 7488) / 1012);
  load.prefix_tokens = 15;
  EXPECT_LT(held(), 50) << "no block is whole";
  load.prefix_tokens = 7500;
  served.kept.finds_prefixes = false;
  EXPECT_LT(held(), 50);
}

// The simulation runs as many requests at once as the cache is said to hold, and throws none out.
TEST(ServedWorker, RequestsThatThePrefixLeavesRoomForRunAtOnce) {
  const auto model = serving::read_model("llama-3.1-70b").value();
  for (const Engine engine : kEngines) {
    ServedWorker served = served_70b(engine);
    const std::int64_t most = most_held(model, served, kShared, 1024);
    ClosedLoop load = kShared;
    load.concurrency = served.max_batch = most * 9 / 10;
    load.requests_each = 2;
    const auto metrics = serve(model, served, testing::LinearCost(1), load).value();
    EXPECT_EQ(metrics.preemptions, 0) << name_of(engine);
    EXPECT_GT(metrics.mean_batch, 200) << name_of(engine);
  }
}

// 100,000 requests leave less room by their logits than those that then fit.
TEST(ServedWorker, TheMostRequestsThatAreHeldAreThoseThatADeploymentForSoManyHolds) {
  const auto model = serving::read_model("qwen3-32b").value();
  ServedWorker served{.engine = Engine::kVllm,
                      .deployment = {.tp = 2, .moe_tp = 2},
                      .memory = {.capacity_bytes = 1.5e11}};
  ClosedLoop load{.prompt_tokens = 4000, .output_tokens = 1000};
  const auto held = [&](std::int64_t batch) {
    served.max_batch = load.concurrency = batch;
    return held_requests(memory_of_worker(model, served, load), served, load);
  };
  served.max_batch = 100'000;
  const std::int64_t most = most_held(model, served, load, 100'000);
  EXPECT_GT(most, held(100'000));
  EXPECT_GE(held(most), most);
  EXPECT_LT(held(most + 1), most + 1);
}

TEST(ServedWorker, WhatWasMeasuredToBeFreeIsNamedWhereItDecides) {
  const auto model = serving::read_model("qwen3-8b").value();
  ServedWorker served{.engine = Engine::kVllm, .deployment = {}};
  const auto refusal = [&](double capacity, double stated) {
    served.memory = {.capacity_bytes = capacity, .stated_bytes = stated};
    const auto limits = limits_of(model, served, kLoad);
    return limits.ok() ? "" : limits.error().message;
  };
  EXPECT_THAT(refusal(2e10, 8e10), HasSubstr("the 80.0 GB of the system's file would hold one"));
  EXPECT_THAT(refusal(2e10, 2.1e10), Not(HasSubstr("system's file")));
  EXPECT_EQ(refusal(8e10, 9e10), "");
}

// SGLang drops other sizes, whatever it is told.
TEST(ServedWorker, SglangsGroupsOfSeveralGpusHaveGraphsOfMultiplesAlone) {
  const auto model = serving::read_model("qwen3-30b-a3b").value();
  ServedWorker served{.engine = Engine::kSglang,
                      .deployment = {.tp = 4, .moe_ep = 8},
                      .groups = 2,
                      .memory = {.capacity_bytes = 1.5e11}};
  const auto first = [&] {
    std::vector<std::int64_t> graphs = limits_of(model, served, kLoad).value().graph_batches;
    graphs.resize(3);
    return graphs;
  };
  EXPECT_THAT(first(), ElementsAre(4, 8, 12));
  served.deployment.tp = 8;
  EXPECT_THAT(first(), ElementsAre(8, 16, 24));
  // The model that drafts has one token of each request in a step, however many are verified.
  served.speculation.tokens = 3;
  EXPECT_THAT(first(), ElementsAre(8, 16, 24));
  served.speculation = {};
  served.groups = 1;
  EXPECT_THAT(first(), ElementsAre(1, 2, 4));
  served.groups = 2;
  served.engine = Engine::kVllm;
  EXPECT_THAT(first(), ElementsAre(1, 2, 4));
}

TEST(GpuMemory, IsNoMoreThanWasMeasuredToBeFree) {
  store::SystemFacts facts;
  facts.memory_bytes = 151e9;
  EXPECT_EQ(memory_of_gpu(facts, 1).capacity_bytes, 151e9);
  facts.measured_free_bytes = 149e9;
  EXPECT_EQ(memory_of_gpu(facts, 1).capacity_bytes, 149e9);
  EXPECT_EQ(memory_of_gpu(facts, 1).stated_bytes, 151e9);
  facts.measured_free_bytes = 152e9;
  EXPECT_EQ(memory_of_gpu(facts, 1).capacity_bytes, 151e9);
}

}  // namespace
}  // namespace assay::plan
