#include "plan/schedule/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "plan/schedule/step_costs_test_util.h"
#include "plan/schedule/step_time.h"

namespace assay::plan {
namespace {

using testing::equal_requests;
using ::testing::HasSubstr;
using testing::LinearCost;

Limits limits_of(Engine engine, std::int64_t kv_tokens) {
  Limits limits = policy_of(engine).defaults();
  limits.kv_tokens = kv_tokens;
  return limits;
}

std::string error_of(const Limits& limits,
                     const Workload& workload,
                     SimulationOptions options = {}) {
  const auto metrics = simulate(LinearCost(1), policy_of(Engine::kVllm), limits, workload, options);
  return metrics.ok() ? "" : metrics.error().message;
}

// Counts what it is asked for, of steps that are taken one by one and not filled up.
class CountingCost : public LinearCost {
 public:
  using LinearCost::LinearCost;

  [[nodiscard]] double ms(const Step& step) const override {
    prompt_tokens += step.prompt_tokens();
    tokens_out += step.decodes + step.finished_prompts;
    most_tokens = std::max(most_tokens, step.tokens());
    return LinearCost::ms(step);
  }

  mutable std::int64_t prompt_tokens = 0;
  mutable std::int64_t tokens_out = 0;
  mutable std::int64_t most_tokens = 0;
};

Workload varied(std::int64_t requests, const Arrivals& arrivals, std::uint64_t seed = 1) {
  return make_workload({.requests = requests,
                        .prompt = {.kind = Lengths::Kind::kUniform, .tokens = 2000, .ratio = 0.2},
                        .output = {.kind = Lengths::Kind::kLognormal,
                                   .tokens = 200,
                                   .ratio = 0.8,
                                   .most = 1500},
                        .arrivals = arrivals,
                        .seed = seed})
      .value();
}

std::int64_t outputs_of(const Workload& workload) {
  std::int64_t tokens = 0;
  for (const Request& request : workload.requests)
    tokens += request.output_tokens;
  return tokens;
}

TEST(Simulate, OneRequestByHand) {
  // 5 + 100 · 0.5 for the prompt; then three tokens with 100, 101 and 102 in the cache.
  const LinearCost cost(5, 0.5, 1, 0.01);
  for (const Engine engine : kEngines) {
    Limits limits = limits_of(engine, 1000);
    limits.graph_batches = {};
    const auto metrics =
        simulate(cost, policy_of(engine), limits, equal_requests(1, 100, 4, 1)).value();
    EXPECT_DOUBLE_EQ(metrics.ttft_ms.mean, 55);
    EXPECT_DOUBLE_EQ(metrics.tpot_ms.mean, 5 + 1 + 1.01);
    EXPECT_DOUBLE_EQ(metrics.latency_ms.p99, 55 + 3 * 7.01);
    EXPECT_DOUBLE_EQ(metrics.duration_ms, 55 + 3 * 7.01);
    EXPECT_DOUBLE_EQ(metrics.output_tokens_per_s, 4 / metrics.duration_ms * 1000);
    EXPECT_DOUBLE_EQ(metrics.total_tokens_per_s, 104 / metrics.duration_ms * 1000);
    EXPECT_EQ(metrics.steps, 4);
    EXPECT_EQ(metrics.measured_requests, 1);
    EXPECT_DOUBLE_EQ(metrics.mean_batch, 1);
  }
}

TEST(Simulate, StepsOfOneLengthMakeTheirTpot) {
  for (const Engine engine : {Engine::kVllm, Engine::kTrtllm}) {
    const auto metrics = simulate(LinearCost(10), policy_of(engine), limits_of(engine, 1000000),
                                  equal_requests(128, 1000, 100, 32))
                             .value();
    EXPECT_NEAR(metrics.tpot_ms.mean, 10, 1e-9) << name_of(engine);
    EXPECT_NEAR(metrics.between_tokens_ms.p99, 10, 1e-9);
  }
}

// All run in step: the four prompts of a wave are one step of 4 · 100 tokens, then 9 steps decode.
TEST(Simulate, WavesHaveTheirClosedForm) {
  const LinearCost cost(3, 0.01, 0.5);
  for (const Engine engine : kEngines) {
    const auto metrics =
        simulate(cost, policy_of(engine), limits_of(engine, 10000), equal_requests(12, 100, 10, 4))
            .value();
    EXPECT_NEAR(metrics.ttft_ms.p99, 3 + 4, 1e-9) << name_of(engine);
    EXPECT_NEAR(metrics.tpot_ms.p50, 3 + 4 * 0.5, 1e-9);
    EXPECT_NEAR(metrics.duration_ms, 3 * (7 + 9 * 5), 1e-9);
    EXPECT_NEAR(metrics.requests_per_s, 12 / metrics.duration_ms * 1000, 1e-9);
    EXPECT_NEAR(metrics.prompt_time_share, 7.0 / 52, 1e-9);
    EXPECT_EQ(metrics.mixed_time_share, 0);
  }
}

TEST(Simulate, EveryRequestGetsItsTokensWithinTheLimits) {
  for (const Engine engine : kEngines) {
    for (const std::int64_t kv_tokens : {6000, 20000, 400000}) {
      for (const double per_second : {0.0, 3.0}) {
        Arrivals arrivals{.concurrency = 40};
        if (per_second > 0)
          arrivals = {.kind = Arrivals::Kind::kGamma, .per_second = per_second, .burstiness = 0.5};
        const Workload workload = varied(120, arrivals);
        Limits limits = limits_of(engine, kv_tokens);
        limits.max_tokens = 2500;
        limits.graph_batches = {};
        limits.overlap = Limits::Overlap::kNone;
        const CountingCost cost(4, 0.02, 0.05, 1e-5);
        const auto metrics =
            simulate(cost, policy_of(engine), limits, workload, {.stepping = Stepping::kOneByOne})
                .value();
        EXPECT_EQ(cost.tokens_out, outputs_of(workload)) << name_of(engine) << kv_tokens;
        EXPECT_NEAR(metrics.output_tokens_per_s * metrics.duration_ms / 1000,
                    static_cast<double>(outputs_of(workload)), 1e-6);
        EXPECT_EQ(metrics.prompt_tokens_computed, cost.prompt_tokens);
        EXPECT_LE(cost.most_tokens, 2500);
        EXPECT_LE(metrics.peak_kv_tokens, static_cast<double>(kv_tokens));
        EXPECT_LE(metrics.mean_kv_tokens, metrics.peak_kv_tokens);
        EXPECT_GT(metrics.ttft_ms.p50, 4);
        EXPECT_GE(metrics.latency_ms.p99, metrics.ttft_ms.p50);
        EXPECT_TRUE(engine != Engine::kTrtllm || metrics.preemptions == 0);
      }
    }
  }
}

void expect_near(const Spread& fast, const Spread& exact, double relative) {
  EXPECT_NEAR(fast.mean, exact.mean, 1e-6 * exact.mean);
  EXPECT_NEAR(fast.p50, exact.p50, relative * exact.p50);
  EXPECT_NEAR(fast.p90, exact.p90, relative * exact.p90);
  EXPECT_NEAR(fast.p99, exact.p99, relative * exact.p99);
}

void expect_equal_runs(const StepCost& cost,
                       const Policy& policy,
                       const Limits& limits,
                       const Workload& workload) {
  const auto fast = simulate(cost, policy, limits, workload).value();
  const auto exact =
      simulate(cost, policy, limits, workload, {.stepping = Stepping::kOneByOne}).value();
  expect_near(fast.ttft_ms, exact.ttft_ms, 1e-6);
  expect_near(fast.tpot_ms, exact.tpot_ms, 1e-6);
  expect_near(fast.latency_ms, exact.latency_ms, 1e-6);
  expect_near(fast.between_tokens_ms, exact.between_tokens_ms, 0.01);
  EXPECT_NEAR(fast.duration_ms, exact.duration_ms, 1e-6 * exact.duration_ms);
  EXPECT_EQ(fast.steps, exact.steps);
  EXPECT_EQ(fast.preemptions, exact.preemptions);
  EXPECT_NEAR(fast.mean_batch, exact.mean_batch, 1e-6 * exact.mean_batch);
  EXPECT_EQ(fast.peak_kv_tokens, exact.peak_kv_tokens);
  EXPECT_NEAR(fast.mean_kv_tokens, exact.mean_kv_tokens, 0.02 * exact.mean_kv_tokens);
  EXPECT_NEAR(fast.mixed_time_share, exact.mixed_time_share, 1e-6);
}

TEST(Simulate, ManyStepsAtOnceAreTheSameSteps) {
  const LinearCost cost(4, 0.02, 0.05, 1e-5);
  for (const Engine engine : kEngines) {
    for (const std::int64_t kv_tokens : {5000, 20000, 400000}) {
      for (const auto overlap : {Limits::Overlap::kNone, Limits::Overlap::kOneStep}) {
        for (const std::int64_t groups : {1, 3}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(engine), kv_tokens,
                                   static_cast<int>(overlap), groups));
          Limits limits = limits_of(engine, kv_tokens);
          limits.overlap = overlap;
          limits.groups = groups;
          expect_equal_runs(cost, policy_of(engine), limits, varied(90, {.concurrency = 30}));
          expect_equal_runs(cost, policy_of(engine), limits,
                            varied(90, {.kind = Arrivals::Kind::kGamma, .per_second = 5}));
        }
      }
    }
  }
}

TEST(Simulate, ThrowsRequestsOutUnderPressure) {
  const LinearCost cost(4, 0.02, 0.05, 1e-5);
  const auto metrics = simulate(cost, policy_of(Engine::kVllm), limits_of(Engine::kVllm, 20000),
                                varied(90, {.concurrency = 30}))
                           .value();
  EXPECT_GT(metrics.preemptions, 0);
  EXPECT_GT(metrics.mean_kv_tokens, 10000);
}

// The parabola is exact for cubic costs; where the slope changes by s, n steps err by s n² / 24.
TEST(StepRun, KeepsItsErrorBound) {
  const auto sum_of = [](auto cost, std::int64_t steps) {
    double sum = 0;
    for (std::int64_t i = 0; i < steps; ++i)
      sum += cost(static_cast<double>(i));
    return sum;
  };
  const auto run_of = [](auto cost, std::int64_t steps) {
    const auto last = static_cast<double>(steps - 1);
    return StepRun(steps, cost(0.0), cost(last / 2), cost(last)).until_ms(steps);
  };
  const auto cubic = [](double i) { return 7 + 0.3 * i - 0.02 * i * i + 0.001 * i * i * i; };
  double worst = 0;
  for (const std::int64_t steps : {1, 2, 3, 4, 5, 16, 255, 256}) {
    EXPECT_NEAR(run_of(cubic, steps), sum_of(cubic, steps), 1e-9 * sum_of(cubic, steps)) << steps;
    for (double kink = 0; kink < static_cast<double>(steps); kink += 0.5) {
      const auto bent = [&](double i) { return 10 + 0.002 * std::max(0.0, i - kink); };
      const double error = std::abs(run_of(bent, steps) - sum_of(bent, steps));
      const double bound = 0.002 * static_cast<double>(steps * steps) / 24;
      EXPECT_LE(error, bound + 1e-9) << steps << " " << kink;
      worst = std::max(worst, error / bound);
    }
  }
  EXPECT_GT(worst, 0.9);  // the bound is not an empty one
}

TEST(StepRun, FindsTheStepThatEndsBehindAMoment) {
  const StepRun run(100, 10, 10, 10);
  EXPECT_EQ(run.steps_beyond(5, 100), 1);
  EXPECT_EQ(run.steps_beyond(10, 100), 2);
  EXPECT_EQ(run.steps_beyond(15, 100), 2);
  EXPECT_EQ(run.steps_beyond(1e9, 100), 100);
}

// A batch of 5 is computed as the captured 8, with the cache of 5; a prompt beside it, or a larger
// batch than was captured, runs eagerly and not faster than the host launches it.
TEST(StepTime, FillsABatchToItsGraph) {
  const LinearCost cost(1, 0.1, 1, 0.001);
  Limits limits;
  limits.graph_batches = {1, 2, 4, 8};
  limits.eager_step_ms = 20;
  const StepTime trtllm(cost, policy_of(Engine::kTrtllm), limits);
  EXPECT_DOUBLE_EQ(trtllm.ms({.decodes = 5, .decode_cached = 100}), 1 + 8 + 0.5);
  EXPECT_DOUBLE_EQ(trtllm.ms({.decodes = 5, .decode_cached = 100}, 100), 1 + 8 + 1);
  EXPECT_DOUBLE_EQ(trtllm.ms({.decodes = 9, .decode_cached = 100}), 20);
  EXPECT_DOUBLE_EQ(trtllm.ms({.decodes = 30, .decode_cached = 0}), 31);
  constexpr std::array<Chunks, 1> kChunk = {Chunks{.requests = 1, .new_tokens = 2}};
  EXPECT_DOUBLE_EQ(trtllm.ms({.chunks = kChunk, .decodes = 4}), 20);
  // vLLM captures small mixed steps, too.
  const StepTime vllm(cost, policy_of(Engine::kVllm), limits);
  EXPECT_DOUBLE_EQ(vllm.ms({.chunks = kChunk, .decodes = 4}), 1 + 0.2 + 6);
  // All groups fill up to the largest graph; where one runs eagerly, none does.
  const std::array<Step, 2> captured = {Step{.decodes = 5}, Step{.decodes = 1}};
  EXPECT_DOUBLE_EQ(trtllm.group_tokens(captured), 8);
  const std::array<Step, 2> mixed = {Step{.chunks = kChunk, .decodes = 4}, Step{.decodes = 1}};
  EXPECT_DOUBLE_EQ(trtllm.group_tokens(mixed), (2 + 4 + 1) / 2.0);
  EXPECT_TRUE(trtllm.eager({.chunks = kChunk}));
  EXPECT_FALSE(vllm.eager({.chunks = kChunk}));
}

TEST(Simulate, MeasuresAllRequestsOrThoseBehindAWarmUp) {
  const LinearCost cost(3, 0.01, 0.5);
  const Workload workload = equal_requests(12, 100, 10, 4);
  const Policy& policy = policy_of(Engine::kVllm);
  const Limits limits = limits_of(Engine::kVllm, 10000);
  const auto all = simulate(cost, policy, limits, workload).value();
  const auto warm = simulate(cost, policy, limits, workload, {.warm_up_requests = 4}).value();
  EXPECT_EQ(all.measured_requests, 12);
  EXPECT_EQ(warm.measured_requests, 8);
  EXPECT_NEAR(warm.duration_ms, all.duration_ms * 2 / 3, 1e-9);
  EXPECT_NEAR(warm.output_tokens_per_s, all.output_tokens_per_s, 1e-6);
}

TEST(Simulate, CountsWhatKeepsAServiceLevel) {
  // One after the other: the second waits for the first, 10 ms.
  const Workload workload = testing::requests_of(
      {{.prompt_tokens = 1, .output_tokens = 10}, {.prompt_tokens = 1, .output_tokens = 1}});
  Limits limits = limits_of(Engine::kVllm, 1000);
  limits.max_batch = 1;
  const auto good = [&](const ServiceLevel& level) {
    return simulate(LinearCost(1), policy_of(Engine::kVllm), limits, workload, {.level = level})
        .value()
        .good_share;
  };
  EXPECT_EQ(good({}), 1);
  EXPECT_EQ(good({.ttft_ms = 5}), 0.5);
  EXPECT_EQ(good({.tpot_ms = 0.9}), 0.5);
  EXPECT_EQ(good({.tpot_ms = 1.1}), 1);
  EXPECT_EQ(good({.ttft_ms = 5, .tpot_ms = 0.9}), 0);
  EXPECT_EQ(good({.latency_ms = 10.5}), 0.5);
}

TEST(Simulate, GroupsTakeTheTimeOfTheSlowest) {
  // Two groups with a request each: one has the long prompt, both wait for it.
  const Workload workload = testing::requests_of(
      {{.prompt_tokens = 100, .output_tokens = 2}, {.prompt_tokens = 10, .output_tokens = 2}});
  Limits limits = limits_of(Engine::kVllm, 1000);
  limits.groups = 2;
  const auto metrics =
      simulate(LinearCost(1, 0.1), policy_of(Engine::kVllm), limits, workload).value();
  EXPECT_DOUBLE_EQ(metrics.ttft_ms.mean, 11);
  EXPECT_EQ(metrics.steps, 2);
  EXPECT_DOUBLE_EQ(metrics.mean_batch, 2);
}

// Only experts take time: 1 ms for a token of a group, in the mean of those that share them.
class ExpertsCost final : public StepCost {
 public:
  [[nodiscard]] double ms(const Step& step) const override {
    return step.group_tokens > 0 ? step.group_tokens : static_cast<double>(step.tokens());
  }
};

TEST(Simulate, ExpertsGetWhatTheGroupsSend) {
  const Workload workload = testing::requests_of({{.prompt_tokens = 100, .output_tokens = 2},
                                                  {.prompt_tokens = 10, .output_tokens = 2},
                                                  {.prompt_tokens = 30, .output_tokens = 2},
                                                  {.prompt_tokens = 50, .output_tokens = 2}});
  const auto mean_ttft_ms = [&](std::int64_t groups_of_experts) {
    Limits limits = limits_of(Engine::kVllm, 1000);
    limits.groups = 4;
    limits.groups_of_experts = groups_of_experts;
    limits.graph_batches = {};
    return simulate(ExpertsCost(), policy_of(Engine::kVllm), limits, workload).value().ttft_ms.mean;
  };
  EXPECT_DOUBLE_EQ(mean_ttft_ms(1), 100);
  EXPECT_DOUBLE_EQ(mean_ttft_ms(2), (100 + 10) / 2.0);
  EXPECT_DOUBLE_EQ(mean_ttft_ms(4), (100 + 10 + 30 + 50) / 4.0);
}

TEST(Simulate, WaitsForArrivals) {
  const Workload workload =
      testing::requests_of({{.arrival_ms = 0, .prompt_tokens = 1, .output_tokens = 2},
                            {.arrival_ms = 100, .prompt_tokens = 1, .output_tokens = 2}});
  const auto metrics = simulate(LinearCost(1), policy_of(Engine::kTrtllm),
                                limits_of(Engine::kTrtllm, 1000), workload)
                           .value();
  EXPECT_DOUBLE_EQ(metrics.ttft_ms.p99, 1);
  EXPECT_DOUBLE_EQ(metrics.duration_ms, 102);
}

// Two requests leave at once; the scheduler sees them 3 and 6 ms later, a step of 1 ms each.
TEST(Simulate, SendsRequestsThroughTheFrontEnd) {
  Limits limits = limits_of(Engine::kVllm, 1000);
  limits.request_ms = 3;
  const auto metrics =
      simulate(LinearCost(1), policy_of(Engine::kVllm), limits, equal_requests(2, 10, 1, 2))
          .value();
  EXPECT_DOUBLE_EQ(metrics.ttft_ms.mean, (4 + 7) / 2.0);
  EXPECT_DOUBLE_EQ(metrics.duration_ms, 7);
}

// One request after the other, each a step of 1 ms; what lies before the scheduler is not shared.
TEST(Simulate, SendsRequestsOverTheWayFromTheirClients) {
  Limits limits = limits_of(Engine::kVllm, 1000);
  limits.client_ms = 5;
  const auto one_by_one =
      simulate(LinearCost(1), policy_of(Engine::kVllm), limits, equal_requests(2, 10, 1, 1))
          .value();
  EXPECT_DOUBLE_EQ(one_by_one.ttft_ms.mean, 6);
  EXPECT_DOUBLE_EQ(one_by_one.duration_ms, 12);
  const auto together =
      simulate(LinearCost(1), policy_of(Engine::kVllm), limits, equal_requests(2, 10, 1, 2))
          .value();
  EXPECT_DOUBLE_EQ(together.ttft_ms.mean, 6);
  EXPECT_DOUBLE_EQ(together.duration_ms, 6);
}

TEST(Simulate, HasFewerRequestsThanItsConcurrency) {
  const auto metrics = simulate(LinearCost(1), policy_of(Engine::kVllm),
                                limits_of(Engine::kVllm, 1000), equal_requests(3, 10, 5, 64))
                           .value();
  EXPECT_EQ(metrics.measured_requests, 3);
  EXPECT_DOUBLE_EQ(metrics.duration_ms, 5);
}

TEST(Simulate, SaysWhatCanNeverRun) {
  const Limits limits = limits_of(Engine::kVllm, 1000);
  EXPECT_THAT(error_of(limits, {}), HasSubstr("no requests"));
  EXPECT_THAT(
      error_of(limits, equal_requests(2, 900, 200, 1)),
      HasSubstr(
          "request 0 needs 1100 tokens of the cache, 900 of its prompt and 200 of its output, but "
          "the cache holds 992"));
  EXPECT_THAT(error_of(limits, equal_requests(2, 1, 1, 1), {.warm_up_requests = 2}),
              HasSubstr("2 of 2 requests"));
  EXPECT_THAT(error_of(limits_of(Engine::kVllm, 0), equal_requests(1, 1, 1, 1)),
              HasSubstr("tokens that the cache holds is 0"));
  Limits no_groups = limits;
  no_groups.groups = 0;
  EXPECT_THAT(error_of(no_groups, equal_requests(1, 1, 1, 1)), HasSubstr("number of groups is 0"));
  Limits uneven = limits;
  uneven.groups = 3;
  uneven.groups_of_experts = 2;
  EXPECT_THAT(error_of(uneven, equal_requests(1, 1, 1, 1)), HasSubstr("3 groups can't be parted"));
  EXPECT_THAT(simulate(LinearCost(0), policy_of(Engine::kVllm), limits, equal_requests(1, 1, 1, 1))
                  .error()
                  .message,
              HasSubstr("priced at 0 ms"));
  // SGLang wants more than the request itself.
  EXPECT_THAT(simulate(LinearCost(1), policy_of(Engine::kSglang), limits_of(Engine::kSglang, 1000),
                       equal_requests(1, 900, 100, 1))
                  .error()
                  .message,
              HasSubstr("can never be scheduled"));
}

TEST(Simulate, IsDeterministic) {
  const LinearCost cost(4, 0.02, 0.05, 1e-5);
  for (const Engine engine : kEngines) {
    const auto once = [&] {
      return simulate(cost, policy_of(engine), limits_of(engine, 20000),
                      varied(90, {.concurrency = 30}))
          .value();
    };
    const ServingMetrics first = once();
    const ServingMetrics second = once();
    EXPECT_EQ(first.duration_ms, second.duration_ms);
    EXPECT_EQ(first.ttft_ms.p99, second.ttft_ms.p99);
    EXPECT_EQ(first.between_tokens_ms.p99, second.between_tokens_ms.p99);
  }
}

}  // namespace
}  // namespace assay::plan
