#include "plan/schedule/copies.h"

#include <gtest/gtest.h>

#include "plan/schedule/simulate.h"

namespace assay::plan {
namespace {

// 5 ms, and 1 ms for each 100 tokens of prompts.
class PlainCost final : public StepCost {
 public:
  [[nodiscard]] double ms(const Step& step) const override {
    return 5 + 0.01 * static_cast<double>(step.prompt_tokens());
  }
};

Workload arrivals(std::int64_t requests) {
  auto made = make_workload({.requests = requests,
                             .prompt = {.tokens = 1000},
                             .output = {.tokens = 50},
                             .arrivals = {.kind = Arrivals::Kind::kGamma, .per_second = 20}});
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

Limits limits_of_cache(std::int64_t tokens) {
  Limits limits = policy_of(Engine::kVllm).defaults();
  limits.kv_tokens = tokens;
  return limits;
}

TEST(SimulateCopies, OneIsTheDeploymentItself) {
  const PlainCost cost;
  const Workload workload = arrivals(60);
  const Limits limits = limits_of_cache(100'000);
  const auto copies =
      simulate_copies(cost, policy_of(Engine::kVllm), limits, workload, {.level = {.ttft_ms = 30}});
  const auto alone =
      simulate(cost, policy_of(Engine::kVllm), limits, workload, {.level = {.ttft_ms = 30}});
  ASSERT_TRUE(copies.ok());
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(copies.value().ttft_ms.p90, alone.value().ttft_ms.p90);
  EXPECT_EQ(copies.value().tpot_ms.mean, alone.value().tpot_ms.mean);
  EXPECT_EQ(copies.value().good_share, alone.value().good_share);
  EXPECT_EQ(copies.value().steps, alone.value().steps);
  EXPECT_EQ(copies.value().duration_ms, alone.value().duration_ms);
}

TEST(SimulateCopies, EachTakesItsShareOfTheRequests) {
  const PlainCost cost;
  const Workload workload = arrivals(60);
  const Limits limits = limits_of_cache(100'000);
  Workload even = workload;
  even.requests.clear();
  for (std::size_t i = 0; i < workload.requests.size(); i += 2)
    even.requests.push_back(workload.requests[i]);
  const auto both =
      simulate_copies(cost, policy_of(Engine::kVllm), limits, workload, {.copies = 2});
  const auto half = simulate(cost, policy_of(Engine::kVllm), limits, even);
  ASSERT_TRUE(both.ok());
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(both.value().measured_requests, 60);
  EXPECT_GT(both.value().steps, half.value().steps);
  const auto one = simulate_copies(cost, policy_of(Engine::kVllm), limits, workload, {});
  ASSERT_TRUE(one.ok());
  EXPECT_LT(both.value().ttft_ms.mean, one.value().ttft_ms.mean);
  EXPECT_LT(both.value().tpot_ms.mean, one.value().tpot_ms.mean);
}

TEST(SimulateCopies, EachHasACacheOfPrefixesOfItsOwn) {
  const PlainCost cost;
  auto made = make_workload({.requests = 4,
                             .prompt = {.tokens = 1000},
                             .output = {.tokens = 2},
                             .arrivals = {.kind = Arrivals::Kind::kConstant, .per_second = 1},
                             .prefix_tokens = 800});
  ASSERT_TRUE(made.ok());
  const Limits limits = limits_of_cache(100'000);
  const auto computed = [&](std::int64_t copies) {
    const auto metrics =
        simulate_copies(cost, policy_of(Engine::kVllm), limits, made.value(), {.copies = copies});
    EXPECT_TRUE(metrics.ok());
    return metrics.value().prompt_tokens_computed;
  };
  EXPECT_EQ(computed(1), 1000 + 3 * 200);
  EXPECT_EQ(computed(2), 2 * (1000 + 200));
  EXPECT_EQ(computed(4), 4 * 1000);
}

TEST(SimulateCopies, RefusesAClosedLoop) {
  Workload closed = arrivals(4);
  closed.concurrency = 2;
  const PlainCost cost;
  EXPECT_FALSE(simulate_copies(cost, policy_of(Engine::kVllm), limits_of_cache(100'000), closed,
                               {.copies = 2})
                   .ok());
}

}  // namespace
}  // namespace assay::plan
