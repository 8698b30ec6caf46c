#include "allreduce/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "allreduce/lookup.h"
#include "allreduce/synthetic_test_util.h"

namespace assay::allreduce {
namespace {

TunedTables tuned() {
  const auto tables = tune(synthetic({.world_sizes = {4, 8}}), {}, "synthetic");
  EXPECT_TRUE(tables.ok());
  return tables.value();
}

Cell asked(int world_size, std::int64_t hidden_size, std::int64_t tokens) {
  return {.world_size = world_size, .hidden_size = hidden_size, .num_tokens = tokens};
}

std::vector<std::string> origins(const std::vector<Cell>& messages) {
  model::Book book{.title = "", .tables = {StrategySource(tuned()).lookup(messages).value()}};
  model::make_rows(book);
  const model::Table& table = book.tables[0];
  std::vector<std::string> found;
  for (std::size_t row = 0; row < table.row_count(); ++row)
    found.push_back(model::text(table.at(row, table.column("origin").value())));
  return found;
}

TEST(Explain, AMeasuredCellHasItsMeasuredTimes) {
  const Explanation found = explain(tuned(), asked(8, 4096, 8));
  EXPECT_EQ(found.strategy, Strategy::kOneshot);
  EXPECT_EQ(found.size_bytes, 65536);
  ASSERT_EQ(found.times.size(), 4U);
  EXPECT_EQ(found.times[0].timing.strategy, Strategy::kOneshot);
  EXPECT_EQ(found.times[0].how, TimedHow::kMeasured);
  EXPECT_DOUBLE_EQ(found.times[0].timing.time_us, hopper_models()[0].time_us(65536));
  EXPECT_EQ(found.at->cell.num_tokens, 8);
  EXPECT_EQ(found.from_bytes, 0);
  ASSERT_TRUE(found.to_bytes);
  EXPECT_GT(*found.to_bytes, 65536);
}

TEST(Explain, OnlyWhatWasMeasuredOfTheMessageHasAnInterval) {
  const auto tables = tune(synthetic({.noise = 0.01}), {}, "synthetic").value();
  const auto chosen = [&](std::int64_t hidden, std::int64_t tokens) {
    return explain(tables, asked(8, hidden, tokens)).times[0];
  };
  EXPECT_FALSE(std::isnan(chosen(4096, 8).timing.low_us));
  EXPECT_EQ(origin_text(chosen(4096, 8), 8), "measured");
  EXPECT_TRUE(std::isnan(chosen(4096, 12).timing.low_us));
  // This has as many bytes as 8 tokens of 8192.
  const ExplainedTime wider = chosen(16384, 4);
  EXPECT_TRUE(std::isnan(wider.timing.low_us));
  EXPECT_EQ(origin_text(wider, 8), "measured, hidden size 8192");
}

TEST(Explain, ASingleSampleHasNoInterval) {
  Benchmark benchmark = synthetic({.models = {{Strategy::kTwoshot, 3, 0}}});
  for (Measurement& measurement : benchmark.measurements)
    measurement.low_us = measurement.high_us = measurement.time_us;
  const auto tables = tune(benchmark, {}, "synthetic").value();
  EXPECT_TRUE(std::isnan(explain(tables, asked(8, 4096, 8)).times[0].timing.low_us));
}

TEST(Explain, BetweenCellsTimesLieOnTheLineBetweenThem) {
  const Explanation found = explain(tuned(), asked(8, 4096, 12));
  const ExplainedTime& time = found.times[0];
  EXPECT_EQ(time.how, TimedHow::kInterpolated);
  EXPECT_EQ(time.smaller->num_tokens, 8);
  EXPECT_EQ(time.larger->num_tokens, 16);
  EXPECT_NEAR(time.timing.time_us, hopper_models()[0].time_us(98304), 0.1);
}

TEST(Explain, BeyondTheLargestMessageTheLineGoesOn) {
  const Explanation found = explain(tuned(), asked(8, 8192, 65536));
  for (const ExplainedTime& time : found.times) {
    EXPECT_EQ(time.how, TimedHow::kBeyond);
    EXPECT_TRUE(std::isnan(time.timing.low_us));
    EXPECT_GE(time.timing.time_us, time.limit_us);
  }
  const auto nccl = std::find_if(
      found.times.begin(), found.times.end(),
      [](const ExplainedTime& time) { return time.timing.strategy == Strategy::kNccl; });
  const double on_the_line = hopper_models()[3].time_us(found.size_bytes);
  EXPECT_NEAR(nccl->timing.time_us, on_the_line, 1e-6 * on_the_line);
  EXPECT_EQ(origin_text(*nccl, 8), "extrapolated from 16384 tokens");
}

TEST(Explain, AStrategyHasNoTimeWhereItFailed) {
  Benchmark benchmark = synthetic({.hidden_sizes = {4096}});
  for (Measurement& measurement : benchmark.measurements) {
    if (measurement.cell.num_tokens != 8 || measurement.strategy != Strategy::kOneshot) continue;
    measurement.outcome = Outcome::kIncorrect;
    measurement.reason = "element 7 is 0";
  }
  const auto tables = tune(benchmark, {}, "synthetic").value();
  for (const std::int64_t tokens : {6, 8, 12}) {
    const Explanation found = explain(tables, asked(8, 4096, tokens));
    EXPECT_EQ(found.strategy, Strategy::kTwoshotPush) << tokens;
    const ExplainedTime& last = found.times.back();
    EXPECT_EQ(last.timing.strategy, Strategy::kOneshot);
    EXPECT_TRUE(std::isnan(last.timing.time_us));
    EXPECT_EQ(origin_text(last, 8), "failed at 8 tokens");
    const model::Book book = explanation_book(tables, found);
    const model::Table& strategies = book.tables.at(1);
    EXPECT_EQ(model::text(strategies.at(3, strategies.column("remark").value())),
              "incorrect: element 7 is 0");
  }
}

TEST(Explain, TellsWhichWayTheTableChanges) {
  const auto why = [&](std::int64_t tokens) {
    const Explanation found = explain(tuned(), asked(8, 4096, tokens));
    return explanation_book(tuned(), found).tables.at(0).notes.at(0);
  };
  // The times cross at 26 tokens, of which 32 are nearer than 16 by ratio.
  const std::int64_t border = *explain(tuned(), asked(8, 4096, 16)).to_bytes;
  EXPECT_EQ(border / 8192, 26);
  EXPECT_THAT(why(24), testing::HasSubstr("the table keeps it up to " + std::to_string(border - 1) +
                                          " bytes. The nearest measured size, 256 KiB"));
}

TEST(Explain, NoTimeBeyondIsBelowWhatTheLinksNeed) {
  const std::vector<LatencyModel> flat = {{Strategy::kTwoshot, 1100, 0}};
  const auto tables = tune(synthetic({.models = flat}), {}, "synthetic").value();
  const Explanation found = explain(tables, asked(8, 8192, 65536));
  EXPECT_GT(found.times[0].limit_us, 4000);
  EXPECT_DOUBLE_EQ(found.times[0].timing.time_us, found.times[0].limit_us);
}

TEST(Explain, ATypeThatStandsInIsNamed) {
  Cell cell = asked(8, 4096, 4);
  cell.data_type = DataType::kFloat32;
  const Explanation found = explain(tuned(), cell);
  EXPECT_EQ(origin_text(found.times[0], 8), "measured, bfloat16");
  EXPECT_EQ(origins({cell, asked(8, 4096, 8)}),
            (std::vector<std::string>{"choice of bfloat16", "measured"}));
  cell.world_size = 6;
  EXPECT_EQ(origins({cell}), (std::vector<std::string>{"extrapolated from TP 8, bfloat16"}));
}

TEST(Explain, TakesTheNearestRow) {
  const Explanation found = explain(tuned(), asked(8, 7168, 1));
  ASSERT_TRUE(found.slice);
  EXPECT_EQ(found.extrapolated_from, 0);
  EXPECT_EQ(found.row_hidden_size, 8192);
  EXPECT_EQ(found.times[0].how, TimedHow::kNearest);
}

TEST(Explain, ExtrapolatesAnotherNumberOfGpus) {
  const Explanation found = explain(tuned(), asked(6, 8192, 1));
  ASSERT_TRUE(found.slice);
  EXPECT_EQ(found.slice->world_size, 6);
  EXPECT_EQ(found.extrapolated_from, 8);
  EXPECT_EQ(found.times[0].how, TimedHow::kExtrapolated);
}

TEST(Explain, WithoutDataOfTheFusionItIsTheFallback) {
  Cell cell = asked(8, 4096, 8);
  cell.fusion = Fusion::kResidualRmsNorm;
  const Explanation found = explain(tuned(), cell);
  EXPECT_EQ(found.strategy, Strategy::kNccl);
  EXPECT_FALSE(found.slice);
  EXPECT_TRUE(found.times.empty());
  EXPECT_EQ(explanation_book(tuned(), found).tables.size(), 2U);
}

TEST(Explain, TheBoundsAreTheBytesThatLeaveAGpu) {
  const auto usable = [](int world_size) { return usable_rate(world_size, 90)->bytes_per_us; };
  EXPECT_NEAR(sending_us(Strategy::kOneshot, 8, 1 << 20, link_bytes_per_us(90)), 16.311, 1e-3);
  EXPECT_NEAR(sending_us(Strategy::kTwoshot, 8, 1 << 20, usable(8)), 4.960, 1e-3);
  EXPECT_NEAR(sending_us(Strategy::kTwoshotPush, 4, 1e6, usable(4)), 4.274, 1e-3);
}

TEST(Explain, TheLinksAreThoseOfTheSm) {
  constexpr std::int64_t kBytes = 9'000'000;
  EXPECT_DOUBLE_EQ(link_limit_us(Strategy::kOneshot, 4, kBytes, 90), 60);
  EXPECT_DOUBLE_EQ(link_limit_us(Strategy::kOneshot, 4, kBytes, 100), 30);
  EXPECT_DOUBLE_EQ(link_limit_us(Strategy::kTwoshot, 4, kBytes, 80), 45);
  EXPECT_EQ(link_limit_us(Strategy::kOneshot, 4, kBytes, 89), 0) << "no NVLink, or not known";
  EXPECT_FALSE(usable_rate(4, 100)) << "measured on H200 only";
}

// NVLS lets a GPU send its message once, and the switches sum it.
TEST(Explain, NcclIsBoundByNoMoreThanItsMessageWhereSwitchesSum) {
  constexpr std::int64_t kBytes = 9'000'000;
  for (const Strategy strategy : {Strategy::kNccl, Strategy::kNcclSymmetric, Strategy::kAuto}) {
    EXPECT_DOUBLE_EQ(link_limit_us(strategy, 8, kBytes, 90), 20) << name_of(strategy);
    EXPECT_DOUBLE_EQ(link_limit_us(strategy, 8, kBytes, 80), 52.5) << name_of(strategy);
  }
}

TEST(Explain, TheBookSaysWhatIsKnownOfTheLinks) {
  Benchmark benchmark = synthetic({.world_sizes = {4}});
  const auto bounds = [&](int sm_version) {
    benchmark.sm_version = sm_version;
    const TunedTables tables = tune(benchmark, {}, "").value();
    return explanation_book(tables, explain(tables, asked(4, 1024, 8))).tables.back();
  };
  EXPECT_EQ(bounds(90).columns.size(), 4U);
  EXPECT_EQ(bounds(100).columns.at(2).name, "at 900 GB/s");
  EXPECT_EQ(bounds(100).columns.size(), 3U);
  EXPECT_EQ(bounds(89).columns.size(), 2U);
  EXPECT_THAT(bounds(89).notes.at(0), testing::HasSubstr("SM 89 are not known"));
}

}  // namespace
}  // namespace assay::allreduce
