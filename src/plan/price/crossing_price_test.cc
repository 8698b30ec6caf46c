#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/warnings.h"
#include "plan/price/operator_price.h"
#include "store/files/csv_frame.h"

namespace assay::plan {
namespace {

constexpr double kNodeMs = 0.5;

// All-reduces of 8 GPUs, which take as long whatever they send.
core::Result<TableSource::Index> node_rows() {
  std::string csv =
      "framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,"
      "latency\n";
  for (double message = 1024; message <= 1 << 26; message *= 2)
    csv += fmt::format("F,1,D,all_reduce,k,bfloat16,8,{},{}\n", message, kNodeMs);
  model::Warnings warnings;
  const auto frame = ASSAY_TRY(store::read_csv_frame(csv, warnings, {.text_columns = {"version"}}));
  return std::make_shared<const store::WorkIndex>(
      ASSAY_TRY(store::WorkIndex::make("custom_allreduce_perf", frame, nullptr)));
}

// Two bytes an element, of which a ring among 16 sends 1.875 times as many.
store::CostBinder sent_bytes() {
  return [](const auto&, const auto&) {
    return [](std::span<const double> sizes) {
      return store::RowCost{.link_bytes = 1.875 * 2 * sizes.front()};
    };
  };
}

Tables made_tables() {
  const auto load = [](const std::string&) -> core::Result<std::vector<TableSource>> {
    return std::vector<TableSource>{{"made 1", Fidelity::kKernels, node_rows}};
  };
  return {std::nullopt, load, [](const std::string&) { return store::RooflineBinder(); },
          [](const std::string&) { return sent_bytes(); }};
}

serving::OperatorUse all_reduce_of_16() {
  return {.role = "all-reduce",
          .op = "custom_allreduce",
          .table = "custom_allreduce_perf",
          .op_name = "all_reduce",
          .key = {{"allreduce_dtype", std::string("bfloat16")}, {"num_gpus", std::int64_t{16}}},
          .sizes = {{"message_size", serving::Amount::kTokens, 1024}},
          .count = 2};
}

TEST(CrossingPrice, IsThatOfANodeAndOfTheLinksBetweenNodes) {
  Tables tables = made_tables();
  EXPECT_FALSE(OperatorPrice::bind(all_reduce_of_16(), tables).ok());
  tables.set_links(
      {.gpus_per_node = 8, .latency_s = 1e-5, .bytes_per_s = [](std::int64_t) { return 50e9; }});
  const auto price = OperatorPrice::bind(all_reduce_of_16(), tables);
  ASSERT_TRUE(price.ok()) << price.error().message;
  EXPECT_EQ(price.value().fidelity(), Fidelity::kLinks);
  EXPECT_EQ(price.value().source(), "made 1 within nodes, links between 2");
  // 1024 tokens are 2 MiB, of which a GPU exchanges an eighth with one other node, two rounds.
  const double between_ms = 2 * 0.01 + 1e3 * (2.0 * 1024 * 1024 / 8) / 50e9;
  const Price at = price.value().at({.tokens = 1024});
  EXPECT_NEAR(at.ms, 2 * (kNodeMs + between_ms), 1e-6);
  EXPECT_NEAR(at.sigma, kCrossingSigma * between_ms / (kNodeMs + between_ms), 0.01);
}

}  // namespace
}  // namespace assay::plan
