#include "plan/uncertainty/error_bars.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string_view>

namespace assay::plan {
namespace {

PricedPart part(std::string_view table, double ms, double sigma, std::string_view source = "e") {
  return {.table = table, .source = source, .ms = ms, .sigma = sigma};
}

LoadParts load_of(const StepParts& parts) {
  return {.mean = parts, .prompt = parts};
}

TEST(StepParts, OneTableErrsTogetherAndTablesEachForThemselves) {
  const std::array one_table = {part("gemm_perf", 50, 0.1), part("gemm_perf", 50, 0.1)};
  EXPECT_DOUBLE_EQ(parts_of(one_table).price_sigma, 0.1);
  const std::array two_tables = {part("gemm_perf", 50, 0.1), part("moe_perf", 50, 0.1)};
  EXPECT_DOUBLE_EQ(parts_of(two_tables).price_sigma, 0.1 / std::sqrt(2));
  const std::array two_sources = {part("gemm_perf", 50, 0.1, "a"), part("gemm_perf", 50, 0.1, "b")};
  EXPECT_DOUBLE_EQ(parts_of(two_sources).price_sigma, 0.1 / std::sqrt(2));
}

TEST(StepParts, KnowWhatTablesAreSpentOn) {
  const std::array all = {part("gemm_perf", 1, 0),
                          part("moe_perf", 8, 0),
                          part("custom_allreduce_perf", 2, 0),
                          part("nccl_perf", 2, 0),
                          part("generation_attention_perf", 1, 0),
                          part("mla_bmm_perf", 1, 0),
                          part("memory_op_perf", 5, 0)};
  const StepParts parts = parts_of(all);
  EXPECT_DOUBLE_EQ(parts.products_ms, 1);
  EXPECT_DOUBLE_EQ(parts.experts_ms, 8);
  EXPECT_DOUBLE_EQ(parts.communication_ms, 4);
  EXPECT_DOUBLE_EQ(parts.attention_ms, 2);
  EXPECT_DOUBLE_EQ(parts.other_ms, 5);
  EXPECT_DOUBLE_EQ(parts.experts_share(), 0.4);
  EXPECT_EQ(largest_part(parts), "experts");
  EXPECT_DOUBLE_EQ(largest_percent(parts), 40);
}

TEST(ErrorBars, AreWiderForExpertsAndUnsurePrices) {
  const StepParts dense = {.products_ms = 1};
  const StepParts mixed = {.products_ms = 1, .experts_ms = 1};
  const StepParts unsure = {.products_ms = 1, .price_sigma = 0.2};
  const ErrorBar bar = latency_bars(load_of(dense)).tpot;
  EXPECT_LT(bar.low, 1);
  EXPECT_GT(bar.high, 1);
  const ErrorBar of_experts = latency_bars(load_of(mixed)).tpot;
  EXPECT_LT(of_experts.low, bar.low);
  EXPECT_GT(of_experts.high, bar.high);
  const ErrorBar of_unsure = latency_bars(load_of(unsure)).tpot;
  EXPECT_NEAR(std::log(of_unsure.high), std::hypot(std::log(bar.high), 1.2816 * 0.2), 1e-9);
}

// Kernels alone are a lower bound.
TEST(ErrorBars, OfKernelsAreOnTheSlowSide) {
  const StepParts kernels = {.products_ms = 1, .kernels_ms = 1};
  const ErrorBar bar = latency_bars(load_of(kernels)).tpot;
  EXPECT_DOUBLE_EQ(bar.low, 1);
  EXPECT_GT(bar.high, latency_bars(load_of({.products_ms = 1})).tpot.high);
}

TEST(ErrorBars, OfACalibrationFollowItsPoints) {
  const LoadParts parts = load_of({.products_ms = 1});
  const auto bar = [&](std::size_t points, double error) {
    return latency_bars(parts, CalibrationErrors{.points = points, .ttft = error, .tpot = error})
        .tpot;
  };
  EXPECT_LT(bar(5, 0.01).half_width(), bar(5, 0.1).half_width());
  EXPECT_LT(bar(5, 0.1).half_width(), bar(2, 0.1).half_width());
}

TEST(ErrorBars, OfRatesGoWithOneOverTheLatency) {
  const LatencyBars bars = {.ttft = {.low = 1, .high = 2}, .tpot = {.low = 0.8, .high = 1.25}};
  // 100 ms and 100 tokens of 1 ms: 200 ms, 180 ms at best and 325 ms at worst.
  const ErrorBar rate = rate_bar(bars, 100, 1, 101);
  EXPECT_DOUBLE_EQ(rate.low, 200.0 / 325);
  EXPECT_DOUBLE_EQ(rate.high, 200.0 / 180);
  EXPECT_FALSE(ErrorBar().is_known());
}

TEST(ErrorBars, AChanceLiesBetweenTheEnds) {
  const ErrorBar bar{.low = 0.9, .high = 1.4};
  EXPECT_NEAR(bar.at_most(0.9), 1.4, 1e-4);
  EXPECT_NEAR(bar.at_most(0.1), 0.9, 1e-4);
  EXPECT_NEAR(bar.at_most(0.5), std::sqrt(0.9 * 1.4), 1e-6);
  EXPECT_NEAR(bar.chance_of(bar.at_most(0.7)), 0.7, 1e-9);
  EXPECT_NEAR(bar.chance_of(1.4), 0.9, 1e-4);
  EXPECT_EQ(ErrorBar().at_most(0.9), 1) << "no bar is known";
  EXPECT_EQ(ErrorBar().chance_of(0.99), 0);
  EXPECT_EQ(ErrorBar().chance_of(1), 1);
}

}  // namespace
}  // namespace assay::plan
