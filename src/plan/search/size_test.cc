#include "plan/search/size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "model/serving/family.h"
#include "plan/serve.h"

namespace assay::plan {
namespace {

using testing::HasSubstr;

SearchRequest request_with(double tpot_ms) {
  SearchRequest request;
  request.tpot_limit_ms = tpot_ms;
  return request;
}

// The time of a token grows with the batch, and so does the rate; the closed form is off by a
// factor.
struct FakeWorker {
  std::int64_t tp = 1;
  double token_ms = 5;
  double ms_per_request = 0.25;
  std::int64_t most_batch = 64;
  double closed_form = 1;  // over what is decided

  [[nodiscard]] Candidate at(std::int64_t batch, double factor) const {
    const double tpot_ms = token_ms + ms_per_request * static_cast<double>(batch);
    return {.worker = {.tp = tp, .moe_tp = tp},
            .concurrency = batch,
            .ttft_ms = 10 * tpot_ms,
            .tpot_ms = tpot_ms * factor,
            .requests_per_s = 10 * static_cast<double>(batch) / (tpot_ms * factor)};
  }

  [[nodiscard]] DeploymentCurve curve() const {
    return {.worker = {.tp = tp, .moe_tp = tp},
            .most_batch = most_batch,
            .price = [*this](std::int64_t batch) { return at(batch, closed_form); },
            .decide = [*this](std::int64_t batch) { return std::optional(at(batch, 1)); }};
  }
};

std::vector<DeploymentCurve> curves_of(const std::vector<FakeWorker>& workers) {
  std::vector<DeploymentCurve> curves;
  for (const FakeWorker& worker : workers)
    curves.push_back(worker.curve());
  return curves;
}

// The fewest GPUs, by trying every batch of every worker.
std::int64_t fewest_by_trying(const std::vector<DeploymentCurve>& curves,
                              const TargetLoad& load,
                              const SearchRequest& request) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const DeploymentCurve& curve : curves) {
    for (std::int64_t batch = 1; batch <= curve.most_batch; ++batch) {
      const std::optional<Candidate> one = curve.decide(batch);
      if (!one || !one->meets(request)) continue;
      for (std::int64_t copies = 1; copies * curve.worker.gpus() < fewest; ++copies) {
        const auto count = static_cast<double>(copies);
        if (count * one->requests_per_s < load.requests_per_s ||
            copies * one->concurrency < load.concurrency)
          continue;
        fewest = copies * curve.worker.gpus();
      }
    }
  }
  return fewest;
}

TEST(Size, IsThatOfTryingEveryBatch) {
  const std::vector<FakeWorker> workers = {{.tp = 1, .token_ms = 20, .closed_form = 0.7},
                                           {.tp = 2, .token_ms = 12, .closed_form = 1.4},
                                           {.tp = 4, .token_ms = 7, .most_batch = 200},
                                           {.tp = 8, .token_ms = 4, .ms_per_request = 0.1}};
  const std::vector<DeploymentCurve> curves = curves_of(workers);
  for (const double tpot_ms : {9.0, 14.0, 25.0, 60.0}) {
    const SearchRequest request = request_with(tpot_ms);
    for (const TargetLoad load : {TargetLoad{.requests_per_s = 3},
                                  {.requests_per_s = 47.5},
                                  {.requests_per_s = 411},
                                  {.concurrency = 1},
                                  {.concurrency = 75},
                                  {.concurrency = 1203}}) {
      const auto found =
          size_deployment({.load = load, .most_gpus = 100'000}, request, {.curves = curves}, 3)
              .value();
      ASSERT_TRUE(found.meets_load);
      EXPECT_EQ(found.best.front().gpus(), fewest_by_trying(curves, load, request))
          << tpot_ms << " ms, " << load.requests_per_s << "/s, " << load.concurrency;
    }
  }
}

class GrowingCost final : public StepCost {
 public:
  [[nodiscard]] double ms(const Step& step) const override {
    return 6 + 0.05 * static_cast<double>(step.decodes) +
           0.02 * static_cast<double>(step.prompt_tokens());
  }
};

// The same with the scheduler itself, whose rates are not quite even.
TEST(Size, OfSimulatedBatchesIsThatOfTryingEveryOne) {
  const auto model = serving::parse_model(
                         R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 256,
                             "intermediate_size": 512, "num_attention_heads": 4,
                             "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 1,
                             "vocab_size": 1000})",
                         "tiny")
                         .value();
  const GrowingCost cost;
  const ServedWorker worker{.engine = Engine::kVllm, .memory = {.capacity_bytes = 80e9}};
  const auto load_of = [](std::int64_t batch) {
    return ClosedLoop{
        .concurrency = batch, .prompt_tokens = 400, .output_tokens = 100, .least_length = 0.8};
  };
  const auto price = [&](std::int64_t batch) {
    const SteadyLatencies found = steady_latencies_of(worker, cost, load_of(batch));
    return Candidate{.concurrency = batch,
                     .ttft_ms = found.ttft_ms,
                     .tpot_ms = found.tpot_ms,
                     .requests_per_s = found.requests_per_s};
  };
  const auto decide = [&](std::int64_t batch) -> std::optional<Candidate> {
    const SteadyMetrics found = serve_steadily(model, worker, cost, load_of(batch), 0.05).value();
    return Candidate{.concurrency = batch,
                     .ttft_ms = found.ttft_ms,
                     .tpot_ms = found.tpot_ms,
                     .requests_per_s = found.requests_per_s};
  };
  const std::vector<DeploymentCurve> curves = {
      {.most_batch = 48, .price = price, .decide = decide}};
  const SearchRequest request = request_with(14);
  for (const double rate : {5.0, 33.0, 90.0, 160.0}) {
    const TargetLoad load{.requests_per_s = rate};
    const auto found = size_deployment({.load = load}, request, {.curves = curves}, 3).value();
    EXPECT_EQ(found.best.front().gpus(), fewest_by_trying(curves, load, request)) << rate;
    EXPECT_LT(found.decided, 24) << "half of all batches";
  }
}

TEST(Size, TakesTheFewestGpusOfEachWorker) {
  const auto curves = curves_of({{.tp = 1, .token_ms = 20}, {.tp = 4, .token_ms = 10}});
  const auto result =
      size_deployment({.load = {.requests_per_s = 50}}, request_with(30), {.curves = curves}, 5)
          .value();
  ASSERT_EQ(result.best.size(), 2U);
  // 40 requests a copy at 30 ms, and 64 at 26 ms.
  EXPECT_EQ(result.best[0].copies, 4);
  EXPECT_EQ(result.best[0].gpus(), 4);
  EXPECT_EQ(result.best[1].copies, 3);
  EXPECT_TRUE(result.meets_load);
}

TEST(Size, SaysHowManyWereDecided) {
  const auto curves = curves_of({{.tp = 1, .token_ms = 20}});
  const SizeRequest size{.load = {.requests_per_s = 50}};
  const SearchRequest request = request_with(30);
  const auto result = size_deployment(size, request, {.curves = curves}, 5).value();
  EXPECT_THAT(size_book("", size, request, result).tables.front().notes,
              testing::Contains(HasSubstr(std::to_string(result.decided) +
                                          " aggregated deployments were simulated")));
}

Candidate sized_split(double rate, std::int64_t prefill, std::int64_t decode) {
  return {.worker = {.tp = 1, .moe_tp = 1},
          .split = {.prefill_instances = prefill, .decode_instances = decode},
          .concurrency = 10,
          .ttft_ms = 100,
          .tpot_ms = 10,
          .requests_per_s = rate};
}

// Of fewer GPUs than were searched, smaller deployments may do, which a search of more does not
// list.
TEST(Size, SearchesFewerGpusWhereTheyMayDo) {
  const auto search = [](std::int64_t gpus) -> core::Result<SearchResult> {
    if (gpus < 3) return core::Error{"nothing fits"};
    return SearchResult{.candidates = {gpus >= 8 ? sized_split(9, 5, 3) : sized_split(3, 2, 1)}};
  };
  const auto result =
      size_deployment({.load = {.requests_per_s = 2.5}}, request_with(30), {.split_at = search}, 5)
          .value();
  EXPECT_EQ(result.best.front().gpus(), 3);
}

// Copies that leave a GPU of the searched nodes idle are the best of a larger load: two of 15 GPUs
// carry what two of 16 do.
TEST(Size, SearchesFewerGpusThanSeveralCopiesHave) {
  const auto search = [](std::int64_t gpus) -> core::Result<SearchResult> {
    const bool is_whole = gpus % 16 == 0;
    return SearchResult{.candidates = {is_whole ? sized_split(20.4, 8, 8) : sized_split(20, 8, 7)}};
  };
  const auto result =
      size_deployment({.load = {.requests_per_s = 40}}, request_with(30), {.split_at = search}, 5)
          .value();
  EXPECT_EQ(result.best.front().gpus(), 30);
}

TEST(Size, RanksBothKinds) {
  const auto curves = curves_of({{.tp = 1, .token_ms = 20}});
  const auto search = [](std::int64_t) -> core::Result<SearchResult> {
    return SearchResult{.candidates = {sized_split(30, 1, 1)}};
  };
  const auto gpus = [&](double rate) {
    const auto found = size_deployment({.load = {.requests_per_s = rate}}, request_with(30),
                                       {.curves = curves, .split_at = search}, 5)
                           .value();
    return found.best.front().candidate.is_split() ? -found.best.front().gpus()
                                                   : found.best.front().gpus();
  };
  EXPECT_EQ(gpus(10), 1);
  EXPECT_EQ(gpus(30), -2);
}

TEST(Size, ShowsTheClosestWhereNothingMeetsTheLimits) {
  const auto curves = curves_of({{.tp = 1, .token_ms = 20}, {.tp = 4, .token_ms = 10}});
  const SizeRequest size{.load = {.requests_per_s = 24}};
  const SearchRequest request = request_with(5);
  const auto result = size_deployment(size, request, {.curves = curves}, 5).value();
  EXPECT_FALSE(result.meets_limits);
  EXPECT_FALSE(result.meets_load);
  ASSERT_EQ(result.best.size(), 1U);
  EXPECT_EQ(result.best.front().candidate.worker.tp, 4);
  EXPECT_THAT(size_book("", size, request, result).tables.front().title,
              HasSubstr("No deployment has"));
}

TEST(Size, SaysWhatMoreGpusWouldDo) {
  const auto curves = curves_of({{.tp = 4, .token_ms = 10}});
  const SizeRequest size{.load = {.requests_per_s = 100}, .most_gpus = 8};
  const SearchRequest request = request_with(30);
  const auto result = size_deployment(size, request, {.curves = curves}, 5).value();
  EXPECT_TRUE(result.meets_limits);
  EXPECT_FALSE(result.meets_load);
  EXPECT_EQ(result.best.front().gpus(), 20);
  EXPECT_THAT(size_book("", size, request, result).tables.front().title,
              HasSubstr("8 GPUs do not carry 100 requests/s"));
}

}  // namespace
}  // namespace assay::plan
