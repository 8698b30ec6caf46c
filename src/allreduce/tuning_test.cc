#include "allreduce/tuning.h"

#include <gtest/gtest.h>

#include <cmath>

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
