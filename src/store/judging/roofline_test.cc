#include "store/judging/roofline.h"

#include <gtest/gtest.h>

namespace assay::store {
namespace {

using Key = std::vector<model::PerfField>;

// 1 GB/s of memory, so that 1e6 bytes take 1 ms; what is of at most 4e6 bytes fits in the cache.
const Peaks kPeaks{.memory_bytes_per_s = 1e9, .l2_bytes = 4e6, .flops_per_s = {{"bfloat16", 1e12}}};

// Moves a million bytes for each m, and for each element of its window.
CostedOperator costed(const std::string& name) {
  return {.name = name,
          .columns = {{"dtype", ColumnKind::kDataType},
                      {"m", ColumnKind::kWhole},
                      {"window_size", ColumnKind::kWhole}},
          .cost = [](const std::vector<model::PerfValue>& values) {
            const auto m = static_cast<double>(std::get<std::int64_t>(values[1]));
            const auto window = static_cast<double>(std::get<std::int64_t>(values[2]));
            return RowCost{.bytes = 1e6 * (m + window),
                           .flops = 0,
                           .type = *model::data_type_named(std::get<std::string>(values[0])),
                           .link_bytes = 0};
          }};
}

Key key(const std::string& type, std::int64_t m) {
  return {{"dtype", type}, {"m", m}};
}

TEST(Roofline, IsTheTimeOfWhatTheOperatorMoves) {
  const Rooflines rooflines = table_rooflines("gemm_perf", {costed("gemm")}, kPeaks);
  EXPECT_DOUBLE_EQ(rooflines.all(key("bfloat16", 3)), 3);
}

TEST(Roofline, OfACachedRowIsAFifth) {
  const Rooflines rooflines = table_rooflines("gemm_perf", {costed("gemm")}, kPeaks);
  EXPECT_DOUBLE_EQ(rooflines.cached(key("bfloat16", 4)), 0.8);
  // One more does not fit.
  EXPECT_DOUBLE_EQ(rooflines.cached(key("bfloat16", 5)), 5);
}

TEST(Roofline, ARowWithoutAWindowHasNone) {
  const Rooflines rooflines = table_rooflines("gemm_perf", {costed("gemm")}, kPeaks);
  Key windowed = key("bfloat16", 1);
  windowed.push_back({"window_size", std::int64_t{2}});
  EXPECT_DOUBLE_EQ(rooflines.all(windowed), 3);
  EXPECT_DOUBLE_EQ(rooflines.all(key("bfloat16", 1)), 1);
}

TEST(Roofline, IsUnknownForValuesThatTheOperatorDoesNotHave) {
  const Rooflines rooflines = table_rooflines("gemm_perf", {costed("gemm")}, kPeaks);
  EXPECT_EQ(rooflines.all(key("nvfp4", 1)), 0);
  EXPECT_EQ(rooflines.all({{"dtype", std::string("bfloat16")}}), 0);
  EXPECT_EQ(rooflines.all({{"dtype", std::string("bfloat16")}, {"m", 1.5}}), 0);
  EXPECT_EQ(rooflines.all({{"dtype", std::int64_t{16}}, {"m", std::int64_t{1}}}), 0);
}

TEST(Roofline, DoesNotBoundLayersWithoutAGate) {
  const Rooflines rooflines = table_rooflines("moe_perf", {costed("moe")}, kPeaks);
  Key gated = key("bfloat16", 1);
  gated.push_back({"kernel_source", std::string("triton")});
  EXPECT_DOUBLE_EQ(rooflines.all(gated), 1);
  gated.back().value = std::string("triton_nongated");
  EXPECT_EQ(rooflines.all(gated), 0);
}

TEST(Roofline, IsThatOfTheOperatorWithTheRowsName) {
  CostedOperator twice = costed("read");
  twice.cost = [](const std::vector<model::PerfValue>&) {
    return RowCost{.bytes = 7e6, .flops = 0, .link_bytes = 0};
  };
  const Rooflines rooflines = table_rooflines("memory_op_perf", {costed("copy"), twice}, kPeaks);
  Key named = key("bfloat16", 1);
  EXPECT_EQ(rooflines.all(named), 0);
  named.push_back({"op_name", std::string("read")});
  EXPECT_DOUBLE_EQ(rooflines.all(named), 7);
  named.back().value = std::string("copy");
  EXPECT_DOUBLE_EQ(rooflines.all(named), 1);
  named.back().value = std::string("add");
  EXPECT_EQ(rooflines.all(named), 0);
}

TEST(Roofline, DoesNotExistForDifferencesNorWithoutOperators) {
  EXPECT_EQ(table_rooflines("computescale_perf", {costed("compute_scale")}, kPeaks).all, nullptr);
  EXPECT_EQ(table_rooflines("gemm_perf", {}, kPeaks).cached, nullptr);
}

}  // namespace
}  // namespace assay::store
