#include "plan/schedule/steady.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/schedule/simulate.h"
#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using testing::LinearCost;

Limits limits_of_engine(Engine engine) {
  Limits limits = policy_of(engine).defaults();
  limits.kv_tokens = 10'000'000;
  limits.graph_batches.clear();
  return limits;
}

Workload loop(std::int64_t concurrency, std::int64_t requests, double least_length = 0.8) {
  const auto lengths = [&](double tokens) {
    return Lengths{.kind = Lengths::Kind::kUniform, .tokens = tokens, .ratio = least_length};
  };
  return make_workload(
             {.requests = requests,
              .prompt = lengths(1000),
              .output = lengths(300),
              .arrivals = {.kind = Arrivals::Kind::kClosedLoop, .concurrency = concurrency}})
      .value();
}

SteadyMetrics steady(const StepCost& cost, Engine engine, std::int64_t concurrency) {
  const SteadySpan span = usual_span(concurrency);
  return simulate_steady(cost, policy_of(engine), limits_of_engine(engine),
                         loop(concurrency, concurrency + span.most_requests()), span, 0)
      .value();
}

// The same load, ten rounds after its first wave.
ServingMetrics long_run(const StepCost& cost, Engine engine, std::int64_t concurrency) {
  return simulate(cost, policy_of(engine), limits_of_engine(engine),
                  loop(concurrency, 40 * concurrency), {.warm_up_requests = 10 * concurrency})
      .value();
}

TEST(Steady, IsWhatALongRunComesTo) {
  const LinearCost cost(10, 0.02, 0.05, 0.00002);
  for (const Engine engine : kEngines) {
    for (const std::int64_t concurrency : {1, 7, 40, 200}) {
      SCOPED_TRACE(::testing::Message() << name_of(engine) << " " << concurrency);
      const ServingMetrics expected = long_run(cost, engine, concurrency);
      const SteadyMetrics found = steady(cost, engine, concurrency);
      EXPECT_NEAR(found.tpot_ms, expected.tpot_ms.mean, 0.04 * expected.tpot_ms.mean);
      EXPECT_NEAR(found.ttft_ms, expected.ttft_ms.mean, 0.15 * expected.ttft_ms.mean);
      // The end of the long run, when fewer run, lowers its rate.
      EXPECT_GT(found.output_tokens_per_s, 0.97 * expected.output_tokens_per_s);
      EXPECT_LT(found.output_tokens_per_s, 1.06 * expected.output_tokens_per_s);
    }
  }
}

TEST(Steady, KeepsLittlesLaw) {
  const LinearCost cost(10, 0.02, 0.05);
  const SteadyMetrics found = steady(cost, Engine::kVllm, 100);
  const double life_ms = found.ttft_ms + (270 - 1) * found.tpot_ms;
  EXPECT_NEAR(found.requests_per_s * life_ms / 1000, 100, 4);
}

TEST(Steady, FindsTheQueueOfAPromptBoundLoad) {
  // A step takes one prompt, so that 300 requests decode at most, and 700 wait.
  const LinearCost cost(10);
  Limits limits = limits_of_engine(Engine::kTrtllm);
  limits.max_tokens = 1999;
  const SteadySpan span = usual_span(1000);
  const Workload workload = loop(1000, 1000 + span.most_requests(), 1);
  for (const double waiting : {0.0, 0.7}) {
    const SteadyMetrics found =
        simulate_steady(cost, policy_of(Engine::kTrtllm), limits, workload, span, waiting).value();
    EXPECT_NEAR(found.requests_per_s, 100, 5) << waiting;
    EXPECT_NEAR(found.tpot_ms, 10, 0.01) << waiting;
  }
}

TEST(Steady, AnswersOfOneTokenHaveNoTimeBetweenTokens) {
  const LinearCost cost(10);
  const SteadySpan span = usual_span(4);
  const Workload workload =
      make_workload({.requests = 4 + span.most_requests(),
                     .prompt = {.tokens = 100},
                     .output = {.tokens = 1},
                     .arrivals = {.kind = Arrivals::Kind::kClosedLoop, .concurrency = 4}})
          .value();
  const SteadyMetrics found = simulate_steady(cost, policy_of(Engine::kVllm),
                                              limits_of_engine(Engine::kVllm), workload, span, 0)
                                  .value();
  EXPECT_EQ(found.tpot_ms, 0);
  EXPECT_NEAR(found.ttft_ms, 4 * 1000 / found.requests_per_s, 1);
}

TEST(Steady, SaysWhatCanNeverRun) {
  Limits limits = limits_of_engine(Engine::kVllm);
  limits.kv_tokens = 640;
  const SteadySpan span = usual_span(4);
  const auto found = simulate_steady(LinearCost(10), policy_of(Engine::kVllm), limits,
                                     loop(4, 4 + span.most_requests()), span, 0);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, ::testing::HasSubstr("the cache holds 640"));
}

}  // namespace
}  // namespace assay::plan
