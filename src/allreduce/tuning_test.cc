#include "allreduce/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "allreduce/explain.h"
#include "allreduce/synthetic_test_util.h"

namespace assay::allreduce {
namespace {

Choice choice(std::int64_t tokens, Strategy strategy, double oneshot_us, double twoshot_us) {
  Choice made{.cell = {.world_size = 4, .hidden_size = 1024, .num_tokens = tokens},
              .strategy = strategy,
              .why = Why::kFaster};
  if (oneshot_us > 0) {
    made.timings.push_back({Strategy::kOneshot, oneshot_us, oneshot_us, oneshot_us, 1});
  }
  if (twoshot_us > 0) {
    made.timings.push_back({Strategy::kTwoshot, twoshot_us, twoshot_us, twoshot_us, 1});
  }
  return made;
}

constexpr std::int64_t kTokenBytes = 2048;
constexpr std::int64_t kAnySize = 0;  // the largest size has no effect where both were timed

TEST(Borders, LieWhereTheTimesCross) {
  // The line from -10 to +20 us is 0 at a third of the way from 1 to 4 tokens.
  EXPECT_EQ(border_bytes(choice(1, Strategy::kOneshot, 10, 20),
                         choice(4, Strategy::kTwoshot, 40, 20), kAnySize),
            2 * kTokenBytes);
  // The line from -10 to +70 us is 0 at an eighth of the way from 1 to 16 tokens.
  EXPECT_EQ(border_bytes(choice(1, Strategy::kOneshot, 10, 20),
                         choice(16, Strategy::kTwoshot, 80, 10), kAnySize),
            23 * kTokenBytes / 8);
}

TEST(Borders, LieAtTheNearerEndWhereTheTimesDoNotCross) {
  EXPECT_EQ(border_bytes(choice(1, Strategy::kOneshot, 20.1, 20),
                         choice(4, Strategy::kTwoshot, 40, 20), kAnySize),
            kTokenBytes + 1);
  EXPECT_EQ(border_bytes(choice(1, Strategy::kOneshot, 10, 20),
                         choice(4, Strategy::kTwoshot, 20, 20.1), kAnySize),
            4 * kTokenBytes);
}

TEST(Borders, LieBehindTheLargestMessageThatAStrategyCouldDo) {
  const Choice smaller = choice(1, Strategy::kOneshot, 10, 20);
  const Choice larger = choice(16, Strategy::kTwoshot, 0, 20);
  EXPECT_EQ(border_bytes(smaller, larger, 9 * kTokenBytes), 9 * kTokenBytes + 1);
  EXPECT_EQ(border_bytes(smaller, larger, kTokenBytes), kTokenBytes + 1);
  EXPECT_EQ(border_bytes(smaller, larger, 100 * kTokenBytes), 16 * kTokenBytes);
}

TEST(Borders, KeepAStrategyFromTheSizesAtWhichItFailed) {
  const Choice smaller = choice(1, Strategy::kOneshot, 10, 20);
  Choice larger = choice(16, Strategy::kTwoshot, 0, 20);
  larger.failed = {Strategy::kOneshot};
  EXPECT_EQ(border_bytes(smaller, larger, 9 * kTokenBytes), kTokenBytes + 1);
  Choice failed = choice(1, Strategy::kOneshot, 10, 0);
  failed.failed = {Strategy::kTwoshot};
  EXPECT_EQ(border_bytes(failed, choice(16, Strategy::kTwoshot, 40, 20), kAnySize),
            16 * kTokenBytes);
}

// 8 GPUs, hidden size 4096: one-shot is the fastest up to 32 tokens.
Benchmark with_failures(const std::vector<Strategy>& failed, Outcome outcome) {
  Benchmark benchmark = synthetic({.hidden_sizes = {4096}});
  for (Measurement& measurement : benchmark.measurements) {
    const bool fails =
        std::find(failed.begin(), failed.end(), measurement.strategy) != failed.end();
    if (fails && measurement.cell.num_tokens == 8) measurement.outcome = outcome;
  }
  return benchmark;
}

Strategy found(const TunedTables& tables, std::int64_t tokens) {
  return tables.table.find(8, Fusion::kNone, DataType::kBfloat16, 4096, tokens).strategy;
}

TEST(Tuning, AStrategyIsNotChosenWhereItFailed) {
  for (const Outcome outcome : {Outcome::kIncorrect, Outcome::kError, Outcome::kHang}) {
    const TunedTables tables = tune(with_failures({Strategy::kOneshot}, outcome), {}, "").value();
    EXPECT_EQ(found(tables, 4), Strategy::kOneshot);
    for (const std::int64_t tokens : {5, 8, 15})
      EXPECT_NE(found(tables, tokens), Strategy::kOneshot) << tokens;
    EXPECT_EQ(found(tables, 16), Strategy::kOneshot);
    EXPECT_NE(tables.lookup.lookup(8, Fusion::kNone, 4096, 8), Strategy::kOneshot);
  }
}

// Several rows, tokens of which some lie two steps apart, and two numbers of GPUs.
Sweep sparse_sweep() {
  return {.world_sizes = {2, 8},
          .hidden_sizes = {4096, 5120, 7168},
          .num_tokens = {1, 2, 8, 16, 64, 256, 1024, 2048, 4096}};
}

struct FailureCase {
  std::string name;
  std::function<bool(const Cell&)> fails;
  std::vector<Strategy> strategies = all_strategies();
};

std::vector<FailureCase> failure_cases() {
  const auto at = [](std::int64_t tokens) {
    return [=](const Cell& cell) {
      return cell.world_size == 8 && cell.hidden_size == 4096 && cell.num_tokens == tokens;
    };
  };
  return {{"one strategy", at(8), {Strategy::kOneshot}},
          {"the fastest two", at(8), {Strategy::kOneshot, Strategy::kTwoshotPush}},
          {"all in a cell", at(8)},
          {"all in the smallest cell", at(1)},
          {"all in the largest cell", at(4096)},
          {"all in a row",
           [](const Cell& cell) { return cell.world_size == 8 && cell.hidden_size == 4096; }},
          {"all with 8 GPUs", [](const Cell& cell) { return cell.world_size == 8; }}};
}

TEST(Tuning, NoTableHasAStrategyWhereItFailed) {
  for (const FailureCase& one : failure_cases()) {
    Benchmark benchmark = synthetic(sparse_sweep());
    for (Measurement& measurement : benchmark.measurements) {
      const bool is_named = std::find(one.strategies.begin(), one.strategies.end(),
                                      measurement.strategy) != one.strategies.end();
      if (is_named && one.fails(measurement.cell)) measurement.outcome = Outcome::kIncorrect;
    }
    const TunedTables tables = tune(benchmark, {.fallback = Strategy::kNcclSymmetric}, "").value();
    const core::Result<StrategyTable> read = table_from_json(table_json(tables.table), "written");
    ASSERT_TRUE(read.ok()) << one.name << ": " << read.error().message;
    ASSERT_FALSE(tables.failures.empty());
    for (const auto& [cell, failed] : tables.failures) {
      const Strategy chosen =
          read.value()
              .find(cell.world_size, cell.fusion, cell.data_type, cell.hidden_size, cell.num_tokens)
              .strategy;
      EXPECT_FALSE(failed.contains(chosen)) << one.name << ", " << cell.num_tokens;
      const Strategy entry =
          tables.lookup.lookup(cell.world_size, cell.fusion, cell.hidden_size, cell.num_tokens);
      EXPECT_TRUE(entry == Strategy::kNccl || !failed.contains(entry)) << one.name;
      const Explanation explained = explain(tables, cell);
      EXPECT_EQ(explained.strategy, chosen);
    }
  }
}

TEST(Tuning, BetweenAFailureAndTheNextSizeThatWasTriedNothingIsTrusted) {
  // One-shot works at 2 tokens, fails at 8 and was not tried at 4 and 16.
  Benchmark benchmark = synthetic({.hidden_sizes = {4096}});
  std::erase_if(benchmark.measurements, [](const Measurement& measurement) {
    const std::int64_t tokens = measurement.cell.num_tokens;
    return measurement.strategy == Strategy::kOneshot && (tokens == 4 || tokens == 16);
  });
  for (Measurement& measurement : benchmark.measurements) {
    if (measurement.cell.num_tokens == 8 && measurement.strategy == Strategy::kOneshot)
      measurement.outcome = Outcome::kHang;
  }
  const TunedTables tables = tune(benchmark, {}, "").value();
  EXPECT_EQ(found(tables, 2), Strategy::kOneshot);
  for (const std::int64_t tokens : {3, 4, 6, 8, 12, 16, 20})
    EXPECT_NE(found(tables, tokens), Strategy::kOneshot) << tokens;
}

TEST(Tuning, OneFailureOutweighsRunsThatSucceeded) {
  Benchmark benchmark = synthetic({.hidden_sizes = {4096}});
  const Benchmark failed = with_failures({Strategy::kOneshot}, Outcome::kIncorrect);
  benchmark.measurements.insert(benchmark.measurements.end(), failed.measurements.begin(),
                                failed.measurements.end());
  EXPECT_NE(found(tune(benchmark, {}, "").value(), 8), Strategy::kOneshot);
}

TEST(Tuning, WhereAllFailedItIsTheFallback) {
  const Benchmark benchmark = with_failures(all_strategies(), Outcome::kIncorrect);
  const TunedTables tables = tune(benchmark, {.fallback = Strategy::kNcclSymmetric}, "").value();
  EXPECT_EQ(found(tables, 4), Strategy::kOneshot);
  EXPECT_EQ(found(tables, 8), Strategy::kNcclSymmetric);
  EXPECT_EQ(found(tables, 16), Strategy::kOneshot);
  EXPECT_EQ(find_choice(tables.choices, {8, DataType::kBfloat16, Fusion::kNone, 4096, 8})->why,
            Why::kFailed);
  EXPECT_EQ(tables.lookup.lookup(8, Fusion::kNone, 4096, 8), Strategy::kNccl);
}

TEST(Tuning, ATimeThatTheLinksDoNotAllowIsAFailure) {
  Benchmark benchmark = synthetic({.hidden_sizes = {4096}});
  for (Measurement& measurement : benchmark.measurements) {
    const bool is_impossible =
        measurement.cell.num_tokens == 4096 && measurement.strategy == Strategy::kTwoshot;
    if (is_impossible) measurement.time_us = 1;
  }
  const TunedTables tables = tune(benchmark, {}, "").value();
  EXPECT_EQ(found(tables, 4096), Strategy::kNccl);
  ASSERT_EQ(tables.failures.size(), 1U);
  EXPECT_EQ(tables.failures.begin()->second.at(Strategy::kTwoshot).reason,
            "1 us is less than the links need, 130.5 us");
}

TEST(Tuning, ALineThatIsThereTwiceIsOneRun) {
  Benchmark benchmark = synthetic({.hidden_sizes = {4096}, .noise = 0.01});
  const Benchmark once = benchmark;
  benchmark.measurements.insert(benchmark.measurements.end(), once.measurements.begin(),
                                once.measurements.end());
  for (const auto& [cell, of_cell] : timings_of(benchmark, Launch::kGraph)) {
    for (const Timing& timing : of_cell)
      EXPECT_EQ(timing.runs, 1);
  }
}

TEST(Tuning, ServedShapesChangeOnlyTheirEntries) {
  const Benchmark benchmark = synthetic({.hidden_sizes = {1024, 2048, 4096, 8192}, .noise = 0.02});
  const TunedTables all = tune(benchmark, {}, "").value();
  const TunedTables served = tune(benchmark, {.served = {.hidden_sizes = {3000}}}, "").value();
  for (const std::int64_t hidden : {1024, 4096, 8192}) {
    for (const std::int64_t tokens : kPublicTokens) {
      EXPECT_EQ(served.lookup.lookup(8, Fusion::kNone, hidden, tokens),
                all.lookup.lookup(8, Fusion::kNone, hidden, tokens))
          << hidden << " " << tokens;
    }
  }
}

TEST(Tuning, TheSummaryHasEveryRowThatWasMeasuredAndEveryWayBack) {
  const std::vector<LatencyModel> all = hopper_models();
  Benchmark benchmark =
      synthetic({.hidden_sizes = {4096, 7168}, .models = {all[0], all[1], all[3]}});
  for (Measurement& measurement : benchmark.measurements) {
    const bool is_slow = measurement.cell.num_tokens == 64 &&
                         measurement.cell.hidden_size == 7168 &&
                         measurement.strategy == Strategy::kTwoshotPush;
    if (is_slow) measurement.time_us *= 20;
  }
  const model::Book book = tuning_summary(tune(benchmark, {}, "").value());
  const model::Table& rows = book.tables.at(1);
  std::vector<std::string> hidden;
  for (std::size_t row = 0; row < rows.row_count(); ++row)
    hidden.push_back(model::text(rows.at(row, rows.column("hidden size").value())));
  EXPECT_THAT(hidden, testing::IsSupersetOf({"4096", "7168"}));
  ASSERT_EQ(book.tables.size(), 3U);
  EXPECT_EQ(book.tables[2].name, "against_order");
}

TEST(Borders, LieAtTheGeometricMeanWhereTheLargerOneIsNew) {
  EXPECT_EQ(border_bytes(choice(1, Strategy::kOneshot, 10, 0),
                         choice(16, Strategy::kTwoshot, 40, 20), kAnySize),
            4 * kTokenBytes);
}

TEST(Borders, MakeATableThatGivesEveryMeasuredCellItsChoice) {
  const auto slices =
      decide(timings_of(synthetic({.world_sizes = {2, 4, 8}, .noise = 0.02}), Launch::kGraph),
             {.strategies = all_strategies()});
  const StrategyTable table{.sm_version = 90, .slices = table_slices(slices)};
  std::size_t cells = 0;
  for (const DecidedSlice& slice : slices) {
    for (const DecidedRow& row : slice.rows) {
      for (const Choice& made : row.choices) {
        EXPECT_EQ(table.lookup(slice.world_size, slice.fusion, slice.data_type, row.hidden_size,
                               made.cell.num_tokens),
                  made.strategy);
        ++cells;
      }
    }
  }
  EXPECT_EQ(cells, 315U);
}

TEST(Borders, AStrategyThatIsBestOnlyBetweenCellsGetsItsSegment) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  const auto add = [&](std::int64_t tokens, double oneshot, double twoshot, double nccl) {
    const Cell cell{.world_size = 4, .hidden_size = 1024, .num_tokens = tokens};
    benchmark.measurements.push_back(measured(cell, Strategy::kOneshot, oneshot, 0.005));
    benchmark.measurements.push_back(measured(cell, Strategy::kTwoshot, twoshot, 0.005));
    benchmark.measurements.push_back(measured(cell, Strategy::kNccl, nccl, 0.005));
  };
  add(1, 10, 11, 20);
  add(4, 40, 20, 20);  // the interpolated times of 2 tokens are 20, 14 and 20
  add(16, 160, 80, 20);
  const auto tables =
      table_slices(decide(timings_of(benchmark, Launch::kGraph), {.strategies = all_strategies()}));
  const auto& segments = tables[0].rows[0].segments;
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments[0], (TableSegment{0, Strategy::kOneshot}));
  // The line from -1 to +6 us is 0 at a seventh of the way from 1 to 2 tokens.
  EXPECT_EQ(segments[1], (TableSegment{2341, Strategy::kTwoshot}));
  EXPECT_EQ(segments[2], (TableSegment{4 * kTokenBytes + 1, Strategy::kNccl}));
}

TEST(Borders, LeaveOutWhatHasNoData) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  const Cell cell{.world_size = 4, .hidden_size = 1024, .num_tokens = 1};
  benchmark.measurements = {measured(cell, Strategy::kNccl, 10)};
  Cell failed = cell;
  failed.fusion = Fusion::kResidualRmsNorm;
  benchmark.measurements.push_back(measured(failed, Strategy::kNccl, 10));
  benchmark.measurements.back().outcome = Outcome::kHang;
  const auto tables = table_slices(
      decide(timings_of(benchmark, Launch::kGraph),
             {.strategies = all_strategies(), .hidden_sizes = {512, 1024}, .num_tokens = {1, 2}}));
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].rows.size(), 1U);
  EXPECT_EQ(tables[0].rows[0].hidden_size, 1024);
  EXPECT_EQ(tables[0].rows[0].segments, (std::vector<TableSegment>{{0, Strategy::kNccl}}));
}

}  // namespace

}  // namespace assay::allreduce
