#include "plan/speculation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/serving/family.h"
#include "plan/closed_form.h"
#include "plan/schedule/simulate.h"
#include "plan/schedule/steady.h"
#include "plan/schedule/step_costs_test_util.h"
#include "plan/serve.h"

namespace assay::plan {
namespace {

using testing::equal_requests;
using ::testing::HasSubstr;
using testing::LinearCost;

Speculation drafting(std::int64_t tokens, std::vector<double> rates) {
  return speculation_of(tokens, rates).value();
}

std::string problem_of(std::int64_t tokens, std::vector<double> rates) {
  const auto made = speculation_of(tokens, rates);
  return made.ok() ? "" : made.error().message;
}

Limits wide_limits(Engine engine, const Speculation& speculation) {
  Limits limits = policy_of(engine).defaults();
  limits.kv_tokens = 10'000'000;
  limits.graph_batches.clear();
  limits.speculation = speculation;
  return limits;
}

// vLLM captures no other sizes: a step verifies 3 tokens of each request.
TEST(Speculation, GraphsOfVllmHoldWholeRequests) {
  const auto model = serving::read_model("deepseek-v3").value();
  const ServedWorker served{.engine = Engine::kVllm,
                            .deployment = {.tp = 8, .moe_ep = 8, .speculative_tokens = 2},
                            .memory = {.capacity_bytes = 1e13},
                            .speculation = drafting(2, {0.8})};
  const ClosedLoop load{.concurrency = 8, .prompt_tokens = 100, .output_tokens = 10};
  const auto sizes = limits_of(model, served, load).value().graph_batches;
  EXPECT_THAT(std::vector(sizes.begin(), sizes.begin() + 6),
              ::testing::ElementsAre(3, 6, 9, 18, 24, 33));
  EXPECT_EQ(sizes.back(), 498);  // 512 becomes 513, above the largest
  for (const std::int64_t size : sizes)
    EXPECT_EQ(size % 3, 0) << size;
}

TEST(Speculation, OneRateIsThatOfEachDraftBehindAnAcceptedOne) {
  EXPECT_DOUBLE_EQ(drafting(3, {0.8}).tokens_per_step(), 1 + 0.8 + 0.64 + 0.512);
  EXPECT_DOUBLE_EQ(drafting(2, {0.9, 0.5}).tokens_per_step(), 1 + 0.9 + 0.5);
  EXPECT_DOUBLE_EQ(Speculation{}.tokens_per_step(), 1);
  EXPECT_EQ(Speculation{}.text(), "");
}

TEST(Speculation, RatesThatMakeNoSenseAreRefused) {
  EXPECT_THAT(problem_of(2, {1.2}), HasSubstr("within 0 and 1"));
  EXPECT_THAT(problem_of(2, {std::nan("")}), HasSubstr("within 0 and 1"));
  EXPECT_THAT(problem_of(2, {0.5, 0.9}), HasSubstr("grow from 0.5 to 0.9"));
  EXPECT_THAT(problem_of(3, {0.9, 0.5}), HasSubstr("2 acceptance rates for 3 drafted tokens"));
  EXPECT_EQ(problem_of(0, {}), "");
}

TEST(Speculation, AModelNeedsLayersThatPredict) {
  const Speculation one = drafting(1, {0.8});
  const auto dense = serving::read_model("qwen3-32b").value();
  const core::Status refused = check_speculation(dense, one);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("num_nextn_predict_layers"));
  EXPECT_TRUE(check_speculation(dense, {}).ok());
  for (const char* name : {"deepseek-v3", "deepseek-r1", "glm-4.5", "qwen3-next-80b-a3b"})
    EXPECT_TRUE(check_speculation(serving::read_model(name).value(), one).ok()) << name;
}

TEST(Speculation, ExpectedStepsAreThoseOfARenewal) {
  EXPECT_EQ(expected_steps({}, 999), 999);
  // All are accepted: three tokens a step.
  EXPECT_DOUBLE_EQ(expected_steps(drafting(2, {1}), 999), 333);
  EXPECT_DOUBLE_EQ(expected_steps(drafting(2, {1}), 1000), 334);
  EXPECT_DOUBLE_EQ(expected_steps(drafting(4, {0}), 100), 100);
  // By hand: of two tokens the second needs a step of its own with a chance of 1 - 0.6.
  EXPECT_DOUBLE_EQ(expected_steps(drafting(1, {0.6}), 1), 1);
  EXPECT_DOUBLE_EQ(expected_steps(drafting(1, {0.6}), 2), 1.4);
  EXPECT_DOUBLE_EQ(expected_steps(drafting(1, {0.6}), 3), 1 + 0.4 * 1.4 + 0.6 * 1);
  // In the long run tokens come at the mean rate.
  const Speculation three = drafting(3, {0.7});
  EXPECT_NEAR(expected_steps(three, 20000) * three.tokens_per_step() / 20000, 1, 1e-4);
}

TEST(Speculation, DrawnStepsHaveTheirExpectation) {
  const Speculation two = drafting(2, {0.75});
  for (const std::int64_t tokens : {1, 2, 5, 299}) {
    double sum = 0;
    double squares = 0;
    constexpr int kDraws = 20000;
    for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
      const auto steps = static_cast<double>(drawn_steps(two, tokens, seed));
      sum += steps;
      squares += steps * steps;
    }
    const double mean = sum / kDraws;
    const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(mean, expected_steps(two, tokens), 4 * error + 1e-9) << tokens;
  }
  EXPECT_EQ(drawn_steps(two, 500, 7), drawn_steps(two, 500, 7));
  EXPECT_EQ(drawn_steps({}, 500, 7), 500);
}

TEST(Speculation, AllAcceptedDraftsDivideTheStepsOfARequest) {
  // 100 tokens behind the first, four a step.
  const LinearCost cost(5, 0.5);
  for (const Engine engine : kEngines) {
    const Limits limits = wide_limits(engine, drafting(3, {1}));
    const auto metrics =
        simulate(cost, policy_of(engine), limits, equal_requests(1, 100, 101, 1)).value();
    EXPECT_DOUBLE_EQ(metrics.ttft_ms.mean, 55);
    EXPECT_NEAR(metrics.tpot_ms.mean, 5 / 4.0, 1e-9);
    EXPECT_EQ(metrics.steps, 26);
    // Three of four tokens come with the one before them.
    EXPECT_DOUBLE_EQ(metrics.between_tokens_ms.p50, 0);
    EXPECT_NEAR(metrics.between_tokens_ms.mean, 5 / 4.0, 1e-9);
  }
}

TEST(Speculation, RefusedDraftsBringNothing) {
  const LinearCost cost(5, 0.5, 1, 0.01);
  for (const Engine engine : kEngines) {
    const auto workload = equal_requests(8, 100, 40, 3);
    const auto plain = simulate(cost, policy_of(engine), wide_limits(engine, {}), workload).value();
    const auto drafted =
        simulate(cost, policy_of(engine), wide_limits(engine, drafting(2, {0})), workload).value();
    EXPECT_DOUBLE_EQ(drafted.tpot_ms.mean, plain.tpot_ms.mean);
    EXPECT_DOUBLE_EQ(drafted.ttft_ms.mean, plain.ttft_ms.mean);
    EXPECT_EQ(drafted.steps, plain.steps);
  }
}

TEST(Speculation, TheSimulatedMeanIsThatOfTheClosedForm) {
  const LinearCost cost(10, 0.002, 0.05, 0.00002);
  for (const Engine engine : kEngines) {
    for (const double rate : {0.4, 0.85}) {
      const Speculation speculation = drafting(3, {rate});
      const auto metrics = simulate(cost, policy_of(engine), wide_limits(engine, speculation),
                                    equal_requests(160, 500, 1001, 8), {.warm_up_requests = 16})
                               .value();
      const SteadyLatencies expected = steady_latencies(
          cost,
          {.concurrency = 8,
           .prompt_tokens = 500,
           .output_tokens = 1001,
           .prompts = engine == Engine::kSglang ? PromptSteps::kApart : PromptSteps::kCutBeside,
           .speculation = speculation});
      EXPECT_NEAR(metrics.tpot_ms.mean, expected.tpot_ms, 0.02 * expected.tpot_ms)
          << name_of(engine) << " " << rate;
    }
  }
}

TEST(Speculation, ManyStepsAtOnceAreThoseOneByOne) {
  const LinearCost cost(10, 0.02, 0.05, 0.0001);
  for (const Engine engine : kEngines) {
    // The second cache ends, so that requests are thrown out.
    for (const std::int64_t kv_tokens : {1'000'000, 4'096}) {
      Limits limits = wide_limits(engine, drafting(3, {0.7}));
      limits.kv_tokens = kv_tokens;
      limits.kv_block_tokens = 16;
      limits.capacity = Limits::Capacity::kMaxUtilization;
      const auto workload = equal_requests(60, 300, 200, 12);
      const auto at_once = simulate(cost, policy_of(engine), limits, workload).value();
      const auto singly =
          simulate(cost, policy_of(engine), limits, workload, {.stepping = Stepping::kOneByOne})
              .value();
      SCOPED_TRACE(::testing::Message() << name_of(engine) << " " << kv_tokens);
      EXPECT_EQ(at_once.steps, singly.steps);
      EXPECT_EQ(at_once.preemptions, singly.preemptions);
      EXPECT_NEAR(at_once.tpot_ms.mean, singly.tpot_ms.mean, 1e-3 * singly.tpot_ms.mean);
      EXPECT_NEAR(at_once.ttft_ms.mean, singly.ttft_ms.mean, 1e-3 * singly.ttft_ms.mean);
      EXPECT_NEAR(at_once.output_tokens_per_s, singly.output_tokens_per_s,
                  1e-3 * singly.output_tokens_per_s);
    }
  }
}

TEST(Speculation, ARequestThatFillsTheCacheEnds) {
  Limits limits = wide_limits(Engine::kVllm, drafting(7, {0.9}));
  limits.kv_tokens = 160;
  limits.prefix_cache = Limits::PrefixCache::kOff;
  const auto metrics =
      simulate(LinearCost(1), policy_of(Engine::kVllm), limits, equal_requests(3, 100, 60, 2))
          .value();
  EXPECT_EQ(metrics.measured_requests, 3);
}

TEST(Speculation, DraftsTakeTheBudgetOfAStep) {
  SteadyLoad load{.concurrency = 1000,
                  .prompt_tokens = 100,
                  .output_tokens = 101,
                  .token_budget = 64,
                  .speculation = drafting(3, {0})};
  const SteadyLatencies found = steady_latencies(LinearCost(10), load);
  // A request takes 100 tokens of its prompt and 4 for each of its other tokens.
  EXPECT_NEAR(found.requests_per_s, 1000 * 64 / 500.0 / 10, 1e-6);
}

}  // namespace
}  // namespace assay::plan
