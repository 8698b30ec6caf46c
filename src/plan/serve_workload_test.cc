#include "plan/serve_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "model/serving/family.h"
#include "plan/workload_report.h"

namespace assay::plan {
namespace {

class EvenCost final : public StepCost {
 public:
  [[nodiscard]] double ms(const Step& step) const override {
    return 5 + 0.01 * static_cast<double>(step.prompt_tokens());
  }
};

serving::Model tiny_model() {
  auto model = serving::parse_model(
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 256, "intermediate_size": 512,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
          "num_hidden_layers": 1, "vocab_size": 1000})",
      "tiny");
  EXPECT_TRUE(model.ok());
  return std::move(model).value();
}

ServedWorker worker_of(Engine engine) {
  return {.engine = engine, .memory = {.capacity_bytes = 80e9}};
}

Workload requests_every_second(std::int64_t prefix_tokens) {
  auto made = make_workload({.requests = 10,
                             .prompt = {.tokens = 1000},
                             .output = {.tokens = 10},
                             .arrivals = {.kind = Arrivals::Kind::kConstant, .per_second = 1},
                             .prefix_tokens = prefix_tokens});
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

TEST(ServeWorkload, CountsWhatPrefixCachesHad) {
  const EvenCost cost;
  const auto reused = [&](std::int64_t prefix_tokens, std::int64_t copies) {
    const auto found = serve_workload(tiny_model(), worker_of(Engine::kVllm), cost,
                                      requests_every_second(prefix_tokens), {.copies = copies});
    EXPECT_TRUE(found.ok());
    return found.value().reused_share;
  };
  EXPECT_EQ(reused(0, 1), 0);
  EXPECT_DOUBLE_EQ(reused(800, 1), 0.9 * 0.8);
  EXPECT_DOUBLE_EQ(reused(800, 2), 0.8 * 0.8);
}

TEST(ServeWorkload, ReusesNothingWhereNoPrefixIsFound) {
  ServedWorker worker = worker_of(Engine::kVllm);
  worker.kept.finds_prefixes = false;
  const EvenCost cost;
  const auto found = serve_workload(tiny_model(), worker, cost, requests_every_second(800), {});
  EXPECT_EQ(found.value().reused_share, 0);
}

TEST(ServeWorkload, TensorRtTakesThePromptsThatTheWorkloadHas) {
  const EvenCost cost;
  Workload workload = requests_every_second(0);
  workload.requests[3].prompt_tokens = 30'000;
  const auto found =
      serve_workload(tiny_model(), worker_of(Engine::kTrtllm), cost, workload, {.max_batch = 4});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found.value().prompt_tokens, 9 * 1000 + 30'000);
  EXPECT_EQ(found.value().serving.measured_requests, 10);
}

TEST(ServeWorkload, TheBatchIsALimit) {
  const EvenCost cost;
  Workload workload = requests_every_second(0);
  for (Request& request : workload.requests)
    request.arrival_ms = 0;
  const auto batch = [&](std::int64_t most) {
    return serve_workload(tiny_model(), worker_of(Engine::kVllm), cost, workload,
                          {.max_batch = most})
        .value()
        .serving.mean_batch;
  };
  EXPECT_LE(batch(2), 2);
  EXPECT_GT(batch(8), 2);
}

TEST(ServeWorkload, RequestsThatCanNeverRunAreAnError) {
  const EvenCost cost;
  Workload workload = requests_every_second(0);
  workload.requests[3].prompt_tokens = 900'000'000;
  EXPECT_FALSE(serve_workload(tiny_model(), worker_of(Engine::kVllm), cost, workload, {}).ok());
}

TEST(WorkloadLengths, TheLongestRequestNeedNotHaveTheLongestPrompt) {
  const Workload workload{.requests = {{.prompt_tokens = 900, .output_tokens = 100},
                                       {.prompt_tokens = 700, .output_tokens = 500}}};
  const WorkloadLengths lengths = workload_lengths(workload);
  EXPECT_EQ(lengths.prompt_most, 900);
  EXPECT_EQ(lengths.request_most, 1200);
  EXPECT_EQ(lengths.prompt_mean, 800);
}

TEST(SetRate, StretchesTime) {
  Workload workload = requests_every_second(0);
  EXPECT_DOUBLE_EQ(rate_of(workload), 1);
  ASSERT_TRUE(set_rate(4, workload).ok());
  EXPECT_DOUBLE_EQ(rate_of(workload), 4);
  EXPECT_DOUBLE_EQ(workload.requests.back().arrival_ms, 2250);
  for (Request& request : workload.requests)
    request.arrival_ms = 0;
  EXPECT_EQ(rate_of(workload), 0);
  EXPECT_FALSE(set_rate(4, workload).ok());
}

TEST(BeforeCalibration, LimitsThePredictionThatIsMultiplied) {
  const ServiceLevel level =
      before_calibration({.ttft_ms = 300, .tpot_ms = 20}, {.ttft_factor = 2});
  EXPECT_EQ(level.ttft_ms, 150);
  EXPECT_EQ(level.tpot_ms, 20);
}

TEST(ServiceLevelText, NamesTheLimitsThatAreSet) {
  EXPECT_EQ(text_of(ServiceLevel{.ttft_ms = 300, .tpot_ms = 20}),
            "TTFT <= 300 ms and TPOT <= 20 ms");
  EXPECT_EQ(text_of(ServiceLevel{.latency_ms = 900}), "latency <= 900 ms");
}

}  // namespace
}  // namespace assay::plan
