#include "plan/price/scaled_collective.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/warnings.h"
#include "plan/price/operator_price.h"
#include "store/files/csv_frame.h"

namespace assay::plan {
namespace {

using serving::Amount;
using serving::OperatorUse;

OperatorUse all_reduce(std::int64_t gpus) {
  return {
      .role = "all-reduce after attention",
      .op = "custom_allreduce",
      .table = "custom_allreduce_perf",
      .op_name = "all_reduce",
      .key = {{"allreduce_dtype", model::PerfValue(std::string("bfloat16"))}, {"num_gpus", gpus}},
      .sizes = {{"message_size", Amount::kTokens, 1024}},
      .count = 2};
}

TEST(ScaledUse, OnlyCollectivesOfEightGpusAre) {
  const auto scaled = scaled_use(all_reduce(8));
  ASSERT_TRUE(scaled.has_value());
  EXPECT_EQ(*serving::find_key(scaled->half, "num_gpus"), model::PerfValue(std::int64_t{4}));
  EXPECT_EQ(*serving::find_key(scaled->quarter, "num_gpus"), model::PerfValue(std::int64_t{2}));
  EXPECT_DOUBLE_EQ(scaled->bus_growth, (2 * 7.0 / 8) / (2 * 3.0 / 4));
  EXPECT_FALSE(scaled_use(all_reduce(4)).has_value());
  EXPECT_FALSE(scaled_use(all_reduce(16)).has_value());
  EXPECT_FALSE(scaled_use({.op = "gemm", .table = "gemm_perf", .op_name = "gemm"}).has_value());
}

// A link of 1 message in 1 ms, and 0.1 ms for each peer.
ScaledCollective made_scale() {
  return {.bus_growth = 7.0 / 6,
          .shortest_half_ms = 0.3,
          .shortest_quarter_ms = 0.1,
          .longest_half_ms = 1500.3,
          .longest_message = 1000};
}

TEST(ScaledCollective, ShortMessagesGrowWithThePeers) {
  EXPECT_DOUBLE_EQ(made_scale().ms(0, 0.3, 0.1), 0.7);
}

TEST(ScaledCollective, LongMessagesGrowWithTheBusFactor) {
  EXPECT_NEAR(made_scale().ms(1000, 1500.3, 1000.1), 1750, 2);
}

TEST(ScaledCollective, MoreGpusAreNeverFaster) {
  EXPECT_DOUBLE_EQ(made_scale().ms(0, 0.3, 0.9), 0.3);
}

// 1 us for each peer, and the bytes of a ring at 100 elements in a microsecond.
double ring_ms(int gpus, double message) {
  return 1e-3 * ((gpus - 1) + 2.0 * (gpus - 1) / gpus * message / 100);
}

core::Result<TableSource::Index> rows_of(const std::vector<int>& gpus) {
  std::string csv =
      "framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,"
      "latency\n";
  for (const int number : gpus) {
    for (double message = 1024; message <= 1 << 26; message *= 2)
      csv += fmt::format("F,1,D,all_reduce,k,bfloat16,{},{},{}\n", number, message,
                         ring_ms(number, message));
  }
  model::Warnings warnings;
  const auto frame = ASSAY_TRY(store::read_csv_frame(csv, warnings, {.text_columns = {"version"}}));
  return std::make_shared<const store::WorkIndex>(
      ASSAY_TRY(store::WorkIndex::make("custom_allreduce_perf", frame, nullptr)));
}

Tables tables_of(const std::vector<int>& gpus) {
  const auto load = [=](const std::string&) -> core::Result<std::vector<TableSource>> {
    std::vector<TableSource> sources;
    sources.emplace_back("made 1", Fidelity::kKernels, [=] { return rows_of(gpus); });
    return sources;
  };
  return {std::nullopt, load, [](const std::string&) { return store::RooflineBinder(); },
          [](const std::string&) { return store::CostBinder(); }};
}

TEST(ScaledPrice, EightGpusFollowFromTwoAndFour) {
  Tables tables = tables_of({2, 4});
  const auto price = OperatorPrice::bind(all_reduce(8), tables);
  ASSERT_TRUE(price.ok()) << price.error().message;
  EXPECT_EQ(price.value().fidelity(), Fidelity::kScaled);
  EXPECT_EQ(price.value().fidelity_of_rows(), Fidelity::kKernels);
  EXPECT_EQ(price.value().source(), "made 1, scaled from 2 and 4 GPUs");
  EXPECT_FALSE(price.value().has_key());
  for (const double tokens : {1.0, 16384.0}) {
    const Price at = price.value().at({.tokens = tokens});
    EXPECT_NEAR(at.ms, 2 * ring_ms(8, 1024 * tokens), 0.25 * at.ms) << tokens;
    EXPECT_GE(at.sigma, 0.24);
  }
}

TEST(ScaledPrice, MeasuredRowsComeFirst) {
  Tables tables = tables_of({2, 4, 8});
  const auto price = OperatorPrice::bind(all_reduce(8), tables);
  ASSERT_TRUE(price.ok()) << price.error().message;
  EXPECT_EQ(price.value().fidelity(), Fidelity::kKernels);
  EXPECT_NEAR(price.value().at({.tokens = 1}).ms, 2 * ring_ms(8, 1024), 1e-6);
}

TEST(ScaledPrice, OneNumberOfGpusDoesNotTell) {
  Tables tables = tables_of({4});
  const auto price = OperatorPrice::bind(all_reduce(8), tables);
  ASSERT_FALSE(price.ok());
  EXPECT_THAT(price.error().message, testing::HasSubstr("num_gpus=8"));
}

}  // namespace
}  // namespace assay::plan
