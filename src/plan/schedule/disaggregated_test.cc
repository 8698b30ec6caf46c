#include "plan/schedule/disaggregated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/schedule/step_costs_test_util.h"

namespace assay::plan {
namespace {

using ::testing::HasSubstr;
using testing::LinearCost;

Limits pool_limits(Engine engine, std::int64_t kv_tokens) {
  Limits limits = policy_of(engine).defaults();
  limits.kv_tokens = kv_tokens;
  limits.graph_batches = {};
  limits.overlap = Limits::Overlap::kNone;
  return limits;
}

Workload pool_workload(const Arrivals& arrivals) {
  return make_workload({.requests = 90,
                        .prompt = {.kind = Lengths::Kind::kUniform, .tokens = 2000, .ratio = 0.2},
                        .output = {.kind = Lengths::Kind::kLognormal,
                                   .tokens = 200,
                                   .ratio = 0.8,
                                   .most = 900},
                        .arrivals = arrivals,
                        .seed = 3})
      .value();
}

// A prompt of 100 tokens takes 11 ms, its cache of 100 · 1000 bytes 100 ms at 1 MB/s and 5 ms more,
// and each of the two other tokens 2 ms.
TEST(Disaggregated, OneRequestByHand) {
  const LinearCost prompts(1, 0.1);
  const LinearCost tokens(2);
  for (const Engine engine : kEngines) {
    const Limits limits = pool_limits(engine, 1000);
    const auto metrics =
        simulate_disaggregated(policy_of(engine), {&prompts, limits, 1}, {&tokens, limits, 1},
                               {.bytes_per_token = 1000, .gbps = 0.001, .latency_ms = 5},
                               testing::equal_requests(1, 100, 3, 1))
            .value();
    EXPECT_DOUBLE_EQ(metrics.serving.ttft_ms.mean, 11 + 105) << name_of(engine);
    EXPECT_DOUBLE_EQ(metrics.serving.tpot_ms.mean, 2);
    EXPECT_DOUBLE_EQ(metrics.serving.duration_ms, 120);
    EXPECT_DOUBLE_EQ(metrics.mean_transfer_ms, 105);
    EXPECT_DOUBLE_EQ(metrics.prefill_busy_share, 11.0 / 120);
    EXPECT_DOUBLE_EQ(metrics.decode_busy_share, 4.0 / 120);
    EXPECT_EQ(metrics.serving.prompt_tokens_computed, 100);
    EXPECT_EQ(metrics.serving.steps, 2);
  }
}

// Two caches leave one instance together: the second waits for the link.
TEST(Disaggregated, SendsOneCacheAfterTheOther) {
  const LinearCost cost(1);
  const Limits limits = pool_limits(Engine::kVllm, 1000);
  const auto ttft = [&](std::int64_t instances) {
    return simulate_disaggregated(policy_of(Engine::kVllm), {&cost, limits, instances},
                                  {&cost, limits, 1}, {.bytes_per_token = 1000, .gbps = 0.01},
                                  testing::equal_requests(2, 100, 2, 2))
        .value()
        .serving.ttft_ms.mean;
  };
  EXPECT_DOUBLE_EQ(ttft(1), 1 + (10 + 20) / 2.0);
  EXPECT_DOUBLE_EQ(ttft(2), 1 + 10);
}

TEST(Disaggregated, TheMeanTtftAloneIsThatOfTheWholeSimulation) {
  const LinearCost cost(4, 0.02, 0.05, 1e-5);
  for (const Engine engine : kEngines) {
    for (const Arrivals& arrivals :
         {Arrivals{.concurrency = 20}, Arrivals{.kind = Arrivals::Kind::kGamma, .per_second = 8}}) {
      const Workload workload = pool_workload(arrivals);
      const Limits limits = pool_limits(engine, 20'000);
      const CacheTransfer transfer{.bytes_per_token = 1e5, .gbps = 20, .latency_ms = 1};
      const Pool prefill{&cost, limits, 3};
      const Pool decode{&cost, limits, 5};
      const auto all =
          simulate_disaggregated(policy_of(engine), prefill, decode, transfer, workload).value();
      const double alone =
          simulate_disaggregated_ttft_ms(policy_of(engine), prefill, decode, transfer, workload)
              .value();
      EXPECT_DOUBLE_EQ(alone, all.serving.ttft_ms.mean) << name_of(engine);
    }
  }
}

// Prompts of others do not interrupt decoding any more.
TEST(Disaggregated, DecodesEvenly) {
  const LinearCost cost(5, 0.1);
  const Workload workload = testing::equal_requests(60, 1000, 50, 10);
  for (const Engine engine : kEngines) {
    const Limits limits = pool_limits(engine, 1'000'000);
    const auto metrics =
        simulate_disaggregated(policy_of(engine), {&cost, limits, 2}, {&cost, limits, 1},
                               {.bytes_per_token = 1000, .gbps = 100}, workload)
            .value();
    EXPECT_NEAR(metrics.serving.between_tokens_ms.p90, 5, 1e-9) << name_of(engine);
    EXPECT_EQ(metrics.serving.mixed_time_share, 0);
    EXPECT_EQ(metrics.serving.prompt_time_share, 0);
  }
}

// Taken many at once or one by one, and whatever arrives when.
void expect_whole(Engine engine, const Limits& limits, const Workload& workload) {
  const LinearCost cost(4, 0.02, 0.05, 1e-5);
  const auto run = [&](Stepping stepping) {
    return simulate_disaggregated(policy_of(engine), {&cost, limits, 2}, {&cost, limits, 3},
                                  {.bytes_per_token = 1e5, .gbps = 20, .latency_ms = 1}, workload,
                                  {.stepping = stepping})
        .value()
        .serving;
  };
  const ServingMetrics fast = run(Stepping::kManyAtOnce);
  const ServingMetrics exact = run(Stepping::kOneByOne);
  double outputs = 0;
  for (const Request& request : workload.requests)
    outputs += static_cast<double>(request.output_tokens);
  EXPECT_NEAR(fast.output_tokens_per_s * fast.duration_ms / 1000, outputs, 1e-6);
  EXPECT_LE(fast.peak_kv_tokens, static_cast<double>(limits.kv_tokens));
  EXPECT_NEAR(fast.duration_ms, exact.duration_ms, 1e-6 * exact.duration_ms);
  EXPECT_NEAR(fast.ttft_ms.mean, exact.ttft_ms.mean, 1e-6 * exact.ttft_ms.mean);
  EXPECT_NEAR(fast.tpot_ms.p99, exact.tpot_ms.p99, 1e-6 * exact.tpot_ms.p99);
  EXPECT_EQ(fast.steps, exact.steps);
  EXPECT_EQ(fast.preemptions, exact.preemptions);
}

TEST(Disaggregated, GivesEveryRequestItsTokens) {
  for (const Engine engine : kEngines) {
    for (const std::int64_t kv_tokens : {6000, 400000}) {
      for (const auto overlap : {Limits::Overlap::kNone, Limits::Overlap::kOneStep}) {
        SCOPED_TRACE(
            fmt::format("{} {} {}", name_of(engine), kv_tokens, static_cast<int>(overlap)));
        Limits limits = pool_limits(engine, kv_tokens);
        limits.overlap = overlap;
        expect_whole(engine, limits, pool_workload({.concurrency = 30}));
        expect_whole(engine, limits,
                     pool_workload({.kind = Arrivals::Kind::kGamma, .per_second = 8}));
      }
    }
  }
}

TEST(Disaggregated, NeverSendsARequestOfOneToken) {
  const LinearCost cost(1);
  const Limits limits = pool_limits(Engine::kSglang, 1000);
  const auto metrics =
      simulate_disaggregated(policy_of(Engine::kSglang), {&cost, limits, 1}, {&cost, limits, 1},
                             {.bytes_per_token = 1e9, .gbps = 1},
                             testing::equal_requests(3, 10, 1, 1))
          .value();
  EXPECT_DOUBLE_EQ(metrics.serving.duration_ms, 3);
  EXPECT_EQ(metrics.mean_transfer_ms, 0);
}

TEST(Disaggregated, SaysWhatMakesNoSense) {
  const LinearCost cost(1);
  const Limits limits = pool_limits(Engine::kVllm, 1000);
  const auto error = [&](const Pool& prefill, const Pool& decode, const CacheTransfer& transfer) {
    return simulate_disaggregated(policy_of(Engine::kVllm), prefill, decode, transfer,
                                  testing::equal_requests(1, 600, 300, 1))
        .error()
        .message;
  };
  const Pool good{&cost, limits, 1};
  EXPECT_THAT(error({&cost, limits, 0}, good, {.gbps = 1}), HasSubstr("0 instances of prefill"));
  EXPECT_THAT(error(good, good, {}), HasSubstr("0 GB/s"));
  // The prompt fits either, its output only a larger cache.
  const Pool small{&cost, pool_limits(Engine::kVllm, 700), 1};
  EXPECT_THAT(error(good, small, {.gbps = 1}), HasSubstr("decode: request 0 needs 900 tokens"));
  EXPECT_TRUE(simulate_disaggregated(policy_of(Engine::kVllm), small, good, {.gbps = 1},
                                     testing::equal_requests(1, 600, 300, 1))
                  .ok());
}

// 16 requests of 200 tokens of 2 ms, behind a prompt of 11 ms that is sent within 2 ms: what is in
// flight is the rate times the time that each stays.
TEST(LongRun, HasNoWaveAtTheBeginning) {
  const LinearCost prompts(1, 0.1);
  const LinearCost tokens(2);
  const Workload workload = testing::equal_requests(200, 100, 201, 16);
  for (const Engine engine : kEngines) {
    const Limits limits = pool_limits(engine, 10000);
    const CacheTransfer transfer{.bytes_per_token = 1000, .gbps = 0.1, .latency_ms = 1};
    const auto metrics =
        simulate_long_run(policy_of(engine), {&prompts, limits, 2}, {&tokens, limits, 2}, transfer,
                          workload, {.settling = 16, .measured = 160, .waiting = 0.05})
            .value();
    EXPECT_NEAR(metrics.ttft_ms, 11 + 2, 3) << name_of(engine);
    EXPECT_NEAR(metrics.tpot_ms, 2, 0.02) << name_of(engine);
    EXPECT_NEAR(metrics.mean_transfer_ms, 2, 1) << name_of(engine);
    EXPECT_NEAR(metrics.requests_per_s * (metrics.ttft_ms + 200 * metrics.tpot_ms) / 1000, 16, 0.8)
        << name_of(engine);
    EXPECT_NEAR(metrics.output_tokens_per_s / metrics.requests_per_s, 201, 1e-6);
  }
}

// A long benchmark, of which the first requests are not measured, tends to the same.
TEST(LongRun, IsWhatALongBenchmarkTendsTo) {
  const LinearCost prompts(5, 0.02);
  const LinearCost tokens(4, 0, 0.05, 1e-5);
  const Workload workload =
      make_workload({.requests = 1500,
                     .prompt = {.kind = Lengths::Kind::kUniform, .tokens = 2000, .ratio = 0.8},
                     .output = {.kind = Lengths::Kind::kUniform, .tokens = 300, .ratio = 0.8},
                     .arrivals = {.kind = Arrivals::Kind::kClosedLoop, .concurrency = 60},
                     .seed = 5})
          .value();
  const CacheTransfer transfer{.bytes_per_token = 1e5, .gbps = 50, .latency_ms = 0.01};
  for (const Engine engine : kEngines) {
    const Limits limits = pool_limits(engine, 200000);
    const Pool prefill{&prompts, limits, 2};
    const Pool decode{&tokens, limits, 2};
    const auto whole = simulate_disaggregated(policy_of(engine), prefill, decode, transfer,
                                              workload, {.warm_up_requests = 120})
                           .value();
    const auto run = simulate_long_run(policy_of(engine), prefill, decode, transfer, workload,
                                       {.settling = 30, .measured = 600, .waiting = 0.05})
                         .value();
    EXPECT_NEAR(run.tpot_ms / whole.serving.tpot_ms.mean, 1, 0.03) << name_of(engine);
    EXPECT_NEAR(run.ttft_ms / whole.serving.ttft_ms.mean, 1, 0.15) << name_of(engine);
    EXPECT_NEAR(run.requests_per_s / whole.serving.requests_per_s, 1, 0.05) << name_of(engine);
  }
}

}  // namespace
}  // namespace assay::plan
