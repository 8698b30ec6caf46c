#include "allreduce/estimates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "allreduce/benchmark_csv.h"
#include "allreduce/explain.h"
#include "allreduce/synthetic_test_util.h"
#include "allreduce/validate.h"
#include "core/files.h"

namespace assay::allreduce {
namespace {

using testing::HasSubstr;

const std::filesystem::path kSamples =
    std::filesystem::path(ASSAY_SOURCE_DIR) / "samples/allreduce-h200";

Benchmark of_h200(const std::string& folder, Launch launch = Launch::kGraph) {
  return read_benchmarks(find_benchmarks(kSamples / folder, 90, launch).value()).value();
}

const TunedTables& tuned_h200() {
  static const TunedTables tables = tune(of_h200(""), {}, "H200").value();
  return tables;
}

const Timings& held_out_h200() {
  static const Timings timings = timings_of(of_h200("held_out"), Launch::kGraph);
  return timings;
}

Regret regret_of_h200(const std::string& name,
                      const std::string& arms,
                      const RegretScope& scope = {}) {
  for (const Contender& contender : contenders(tuned_h200())) {
    if (contender.name == name && contender.arms_name == arms)
      return regret_of(contender, held_out_h200(), scope);
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(Estimates, MoreGpusDoNotTakeLessTime) {
  // The times of small messages scatter: the second is shorter than the first.
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const auto& [tokens, time_us] : {std::pair{1, 2.3}, std::pair{2, 2.0}, std::pair{4, 2.5}}) {
    const Cell cell{.world_size = 4, .hidden_size = 128, .num_tokens = tokens};
    benchmark.measurements.push_back(measured(cell, Strategy::kTwoshot, time_us));
  }
  const Timings timings =
      extrapolated_timings(timings_of(benchmark, Launch::kGraph), {2, 5, 8}, 90);
  const auto time_us = [&](int world_size, std::int64_t tokens) {
    return timings.at({world_size, DataType::kBfloat16, Fusion::kNone, 128, tokens})[0].time_us;
  };
  for (const int world_size : {5, 8})
    EXPECT_GE(time_us(world_size, 1), 2.3) << world_size;
  EXPECT_LE(time_us(2, 2), 2.0);
}

TEST(Estimates, TheTablesOfTheSampleAreThoseThatItMakes) {
  struct Made {
    std::string folder;
    Launch launch;
    std::string table;
  };

  for (const Made& made : {Made{"", Launch::kGraph, "allreduce_table.json"},
                           Made{"", Launch::kEager, "eager/allreduce_table.json"},
                           Made{"isolated", Launch::kIsolated, "isolated/allreduce_table.json"}}) {
    const std::string written =
        core::read_file(kSamples / "gen_heuristic_code" / made.table).value();
    const std::string provenance = table_from_json(written, made.table).value().provenance;
    const TunedTables tables =
        tune(of_h200(made.folder, made.launch), {.launch = made.launch}, provenance).value();
    EXPECT_TRUE(table_json(tables.table) == written) << made.table << " is of another program";
  }
}

TEST(Estimates, TimesOfThreeGpusAreNoneBelowThoseOfTwo) {
  const Timings& measured = tuned_h200().timings;
  std::size_t compared = 0;
  for (const auto& [cell, of_cell] : extrapolated_timings(measured, {3}, 90)) {
    Cell of_two = cell;
    of_two.world_size = 2;
    for (const Timing& timing : of_cell) {
      const Timing* time = find_timing(measured.at(of_two), timing.strategy);
      if (!time) continue;
      ++compared;
      EXPECT_GE(timing.time_us, time->time_us * (1 - 1e-9));
    }
  }
  EXPECT_GT(compared, 500U);
}

// An entry serves messages of up to twice its own. Where a border lies between, some of them lose.
TEST(BucketTimes, TheLookupTableOfFourGpusLosesFarLessThanTheFastestOfEachCell) {
  const RegretScope four_gpus{.world_size = 4};
  const Regret regret = regret_of_h200("this lookup table", "public", four_gpus);
  EXPECT_EQ(regret.cells, 364U);
  EXPECT_EQ(regret.not_measured, 0U);
  EXPECT_LT(regret.p95, 0.06);
  EXPECT_LT(regret.p95, regret_of_h200("argmin of each cell", "public", four_gpus).p95 / 3);
}

TEST(BucketTimes, AnEntryIsDecidedByItsWholeBucket) {
  // ONESHOT is best at the entry's own message, TWOSHOT in most of its bucket.
  const std::vector<LatencyModel> models = {{Strategy::kOneshot, 1, 1e-4},
                                            {Strategy::kTwoshot, 1.9, 0.1e-4}};
  const Benchmark benchmark = synthetic({.world_sizes = {4}, .models = models});
  const auto tables = tune(benchmark, {}, "").value();
  // ONESHOT leads up to 10 KB: at the entry's 8192 bytes, but not on average up to 20 KB.
  EXPECT_EQ(tables.lookup.lookup(4, Fusion::kNone, 1024, 4), Strategy::kTwoshot);
  EXPECT_EQ(tables.table.lookup(4, Fusion::kNone, DataType::kBfloat16, 1024, 4),
            Strategy::kOneshot);
  // Where only the smallest message is served, the entry is for it.
  const auto served =
      tune(benchmark, {.served = {.hidden_sizes = {1024}, .num_tokens = {4}}}, "").value();
  EXPECT_EQ(served.lookup.lookup(4, Fusion::kNone, 1024, 4), Strategy::kOneshot);
  EXPECT_EQ(served.lookup.lookup(4, Fusion::kNone, 2048, 4), Strategy::kTwoshot);
}

TEST(BucketTimes, AStrategyThatCannotRunInAllOfABucketIsNotChosen) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const std::int64_t tokens : {64, 128}) {
    const Cell cell{.world_size = 4, .hidden_size = 1024, .num_tokens = tokens};
    if (tokens == 64) benchmark.measurements.push_back(measured(cell, Strategy::kOneshot, 1));
    benchmark.measurements.push_back(measured(cell, Strategy::kNccl, 10));
  }
  const auto tables = tune(benchmark, {}, "").value();
  EXPECT_EQ(tables.lookup.lookup(4, Fusion::kNone, 1024, 64), Strategy::kNccl);
}

TEST(Regret, TheTableLosesAtMostThreePercentOnHeldOutShapes) {
  const Regret regret = regret_of_h200("this table", "all");
  EXPECT_EQ(regret.cells, 728U);
  EXPECT_EQ(regret.not_measured, 0U);
  EXPECT_LT(regret.p95, 1e-9);
  EXPECT_LE(regret.max, 0.03);
}

TEST(Extrapolation, IsNeverBelowTheLinkLimitAndMarked) {
  for (const std::int64_t tokens : {1, 64, 1024, 16384}) {
    const Cell cell{.world_size = 8, .hidden_size = 8192, .num_tokens = tokens};
    const Explanation found = explain(tuned_h200(), cell);
    EXPECT_EQ(found.extrapolated_from, 4);
    ASSERT_FALSE(found.times.empty());
    for (const ExplainedTime& time : found.times) {
      EXPECT_EQ(time.how, TimedHow::kExtrapolated);
      EXPECT_GE(time.timing.time_us, time.limit_us) << tokens << name_of(time.timing.strategy);
      EXPECT_TRUE(std::isnan(time.timing.low_us));
    }
  }
  const TableMatch match = tuned_h200().table.find(8, Fusion::kNone, DataType::kBfloat16, 8192, 64);
  EXPECT_TRUE(match.is_extrapolated);
  EXPECT_EQ(match.slice->origin, Origin::kExtrapolated);
  EXPECT_EQ(match.slice->from_world_size, 4);
  EXPECT_FALSE(
      tuned_h200().table.find(4, Fusion::kNone, DataType::kBfloat16, 8192, 64).is_extrapolated);
}

TEST(Extrapolation, ScalesByTheBytesThatAGpuSends) {
  const std::vector<LatencyModel> models = {{Strategy::kOneshot, 2, 3.0 / 300e3},
                                            {Strategy::kNccl, 10, 1.5 / 300e3}};
  const Timings timings =
      timings_of(synthetic({.world_sizes = {4}, .models = models}), Launch::kGraph);
  const Cell cell{.world_size = 8, .hidden_size = 1024, .num_tokens = 2048};
  const Timings found = extrapolated_timings(timings, {2, 4, 8}, 90);
  EXPECT_EQ(found.count({.world_size = 4, .hidden_size = 1024, .num_tokens = 2048}), 0U);
  const double bytes = 2048.0 * 2048;
  // (N-1) S and 2 (N-1)/N S at the same rate; the times between sizes lie on a chord.
  EXPECT_NEAR(find_timing(found.at(cell), Strategy::kOneshot)->time_us, 2 + 7 * bytes / 300e3, 1);
  EXPECT_NEAR(find_timing(found.at(cell), Strategy::kNccl)->time_us, 10 + 1.75 * bytes / 300e3, 1);
}

TEST(Extrapolation, SaysSoInTheBook) {
  const Cell cell{.world_size = 8, .hidden_size = 7168, .num_tokens = 64};
  const model::Book book = explanation_book(tuned_h200(), explain(tuned_h200(), cell));
  EXPECT_THAT(book.tables[0].notes.at(0), HasSubstr("Not measured with 8 GPUs"));
  EXPECT_THAT(book.tables[1].title, HasSubstr("extrapolated"));
}

TEST(Thresholds, LeaveOutWhatIsOutside) {
  const auto tables = tune(synthetic({.world_sizes = {4}, .num_tokens = {1, 64}}),
                           {.thresholds = {.min_tokens = 2}}, "")
                          .value();
  EXPECT_EQ(tables.outside_thresholds, 7U * 4U);
  for (const auto& [cell, times] : tables.timings)
    EXPECT_EQ(cell.num_tokens, 64);
}

TEST(Confidence, IsThatOfTheSamples) {
  EXPECT_DOUBLE_EQ(interval_confidence(5), 0.9375);
  EXPECT_DOUBLE_EQ(interval_confidence(6), 0.95);
  EXPECT_EQ(confidence_text(interval_confidence(5)), "93.75 %");
  EXPECT_EQ(confidence_text(interval_confidence(20)), "95 %");
}

}  // namespace
}  // namespace assay::allreduce
