#include "cli/table_times.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/operator_costs.h"
#include "model/warnings.h"
#include "store/files/csv_frame.h"

namespace assay::cli {
namespace {

constexpr const char* kColumns =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";

// Products of m x 1000 x 1000 at so many TFLOP/s.
std::string products(const std::vector<std::pair<int, double>>& rates) {
  std::string csv = kColumns;
  for (const auto& [m, tflops] : rates) {
    csv += fmt::format("F,1,D,gemm,k,bfloat16,{},1000,1000,{}\n", m, 2e6 * m / tflops / 1e9);
  }
  return csv;
}

plan::Tables tables_of(const std::string& csv) {
  const auto load =
      [csv](const std::string& table) -> core::Result<std::vector<plan::TableSource>> {
    const auto read = [csv, table]() -> core::Result<plan::TableSource::Index> {
      model::Warnings warnings;
      const auto frame =
          ASSAY_TRY(store::read_csv_frame(csv, warnings, {.text_columns = {"version"}}));
      return std::make_shared<const store::WorkIndex>(
          ASSAY_TRY(store::WorkIndex::make(table, frame, nullptr)));
    };
    return std::vector<plan::TableSource>{{"test", plan::Fidelity::kKernels, read}};
  };
  return {std::nullopt, load, [](const std::string&) { return nullptr; },
          [](const std::string& table) { return store::table_costs(costed_operators(table)); }};
}

goal::LaunchTime time_of(const std::string& csv, double rows) {
  plan::Tables tables = tables_of(csv);
  TableTimes times(tables);
  const serving::OperatorUse use{.role = "product",
                                 .op = "gemm",
                                 .table = "gemm_perf",
                                 .op_name = "gemm",
                                 .key = {{"gemm_dtype", model::PerfValue(std::string("bfloat16"))},
                                         {"n", std::int64_t{1000}},
                                         {"k", std::int64_t{1000}}},
                                 .sizes = {{"m", serving::Amount::kTokens}}};
  const auto time = times.time(use, {.tokens = rows});
  EXPECT_TRUE(time.ok()) << time.error().message;
  return time.value();
}

// 800 TFLOP/s up to 2 ms, then 700.
const std::vector<std::pair<int, double>> kThrottled = {
    {100'000, 800},   {400'000, 800},   {800'000, 800},   {1'600'000, 700},
    {2'000'000, 700}, {2'400'000, 700}, {2'800'000, 700}, {3'200'000, 700}};

TEST(TableTimes, NoProductIsFasterThanThoseThatTakeLong) {
  const goal::LaunchTime time = time_of(products(kThrottled), 400'000);
  EXPECT_NEAR(time.ns, 2e6 * 400'000 / 700e12 * 1e9, 1);
  EXPECT_NEAR(time.sustained_flops, 700e12, 1e6);
}

TEST(TableTimes, ASlowerProductTakesWhatItTook) {
  std::vector<std::pair<int, double>> rates = kThrottled;
  rates.emplace_back(10'000, 300);
  const goal::LaunchTime time = time_of(products(rates), 10'000);
  EXPECT_NEAR(time.ns, 2e6 * 10'000 / 300e12 * 1e9, 1);
  EXPECT_EQ(time.sustained_flops, 0);
}

TEST(TableTimes, WithoutRowsThatTakeLongNothingChanges) {
  const goal::LaunchTime time =
      time_of(products({{100'000, 800}, {400'000, 800}, {800'000, 800}}), 400'000);
  EXPECT_NEAR(time.ns, 2e6 * 400'000 / 800e12 * 1e9, 1);
  EXPECT_EQ(time.sustained_flops, 0);
}

}  // namespace
}  // namespace assay::cli
