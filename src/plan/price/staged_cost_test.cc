#include "plan/price/staged_cost.h"

#include <gtest/gtest.h>

#include "model/serving/family.h"
#include "plan/search/deployments.h"

namespace assay::plan {
namespace {

constexpr StageLink kWithin{.bytes_per_s = 400e9, .latency_s = 1e-5};
constexpr StageLink kBetween{.bytes_per_s = 50e9, .latency_s = 1e-5};

StageLink link_of(std::int64_t gpus) {
  return gpus <= 8 ? kWithin : kBetween;
}

// Operators without tables: norms and the like take bytes over bandwidth, all others are refused,
// so that prices here are those of a table with one millisecond for whatever is asked.
class FlatTables {
 public:
  FlatTables()
      : tables(
            std::nullopt,
            [](const std::string&) { return std::vector<TableSource>(); },
            [](const std::string&) -> store::RooflineBinder {
              return [](const std::vector<model::PerfField>&, const std::vector<std::string>&) {
                return [](std::span<const double>) { return 1.0; };
              };
            },
            [](const std::string&) { return nullptr; }) {}

  Tables tables;
};

TEST(StagedCost, OneStageIsTheModel) {
  const auto model = serving::read_model("qwen3-8b").value();
  FlatTables flat;
  const auto prices = StepPrices::bind(model, {}, flat.tables).value();
  const StagedCost cost(prices, {});
  const Step step{.decodes = 16, .decode_cached = 100};
  EXPECT_DOUBLE_EQ(cost.ms(step), prices.ms(step));
}

TEST(StagedCost, WaitsForTheLongestStageAndForLogits) {
  const auto model = serving::read_model("qwen3-8b").value();  // 36 layers
  FlatTables flat;
  const auto prices = StepPrices::bind(model, {}, flat.tables).value();
  const Step step{.decodes = 16, .decode_cached = 100};
  const double whole = prices.ms(step);
  const double logits = prices.logits_of(step);
  ASSERT_GT(logits, 0);

  const auto four = pipeline_of(model, {.pp = 4}, 8, link_of).value();
  EXPECT_DOUBLE_EQ(four.excess, 1);
  EXPECT_NEAR(StagedCost(prices, four).ms(step), whole + 3 * logits, 1e-9);

  const auto eight = pipeline_of(model, {.pp = 8}, 8, link_of).value();
  EXPECT_DOUBLE_EQ(eight.excess, 40.0 / 36);
  EXPECT_NEAR(StagedCost(prices, eight).ms(step), (whole - logits) * 40 / 36 + 8 * logits, 1e-9);
}

TEST(StagedCost, SendsTokensFromStageToStage) {
  const auto model = serving::read_model("qwen3-8b").value();  // a hidden size of 4096
  FlatTables flat;
  const auto prices = StepPrices::bind(model, {}, flat.tables).value();
  const Worker worker{.tp = 4, .moe_tp = 4, .pp = 4};
  const auto pipeline = pipeline_of(model, worker, 8, link_of).value();
  EXPECT_EQ(pipeline.stages_per_node, 2);
  // Two ways within a node, one between nodes.
  const double bytes = 1000 * 4096 * 2;
  EXPECT_NEAR(StagedCost(prices, pipeline).transfer_ms(1000),
              3 * 0.01 + 1e3 * (2 * bytes / 400e9 + bytes / 50e9), 1e-9);
}

TEST(Pipeline, IsRefusedWhereLayersOrLinksLack) {
  const auto model = serving::read_model("qwen3-8b").value();
  EXPECT_FALSE(pipeline_of(model, {.pp = 64}, 8, link_of).ok());
  EXPECT_FALSE(pipeline_of(model, {.pp = 2}, 8, [](std::int64_t) { return StageLink(); }).ok());
}

TEST(Pipeline, StagesAreNearlyAsLong) {
  const auto model = serving::read_model("qwen3-8b").value();
  const Workers staged = staged_workers_of(model, {{.tp = 2, .moe_tp = 2}}, 32, 64);
  std::vector<std::string> names;
  for (const Worker& worker : staged.possible)
    names.push_back(worker.text());
  EXPECT_EQ(names, (std::vector<std::string>{"tp 2, pp 2", "tp 2, pp 4", "tp 2, pp 8"}));
  // 36 layers are 16 stages of 3 at most, a third more than their share.
  ASSERT_EQ(staged.excluded.size(), 2U);
  EXPECT_EQ(staged.excluded.front().worker.pp, 16);
  EXPECT_EQ(staged.possible.front().gpus(), 4);
}

}  // namespace
}  // namespace assay::plan
