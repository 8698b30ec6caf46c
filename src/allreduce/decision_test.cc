#include "allreduce/decision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "allreduce/synthetic_test_util.h"

namespace assay::allreduce {
namespace {

DecisionOptions all_allowed() {
  return {.strategies = all_strategies()};
}

std::vector<DecidedSlice> decided(const Sweep& sweep) {
  return decide(timings_of(synthetic(sweep), Launch::kGraph), all_allowed());
}

bool in_order(const DecidedRow& row) {
  return std::is_sorted(row.choices.begin(), row.choices.end(),
                        [](const Choice& a, const Choice& b) {
                          return spec_of(a.strategy).rank < spec_of(b.strategy).rank;
                        });
}

Cell cell_of(std::int64_t tokens) {
  return {.world_size = 8, .hidden_size = 4096, .num_tokens = tokens};
}

// The times of two strategies in the cells of one row of 1, 2, 4, … tokens.
struct RowTimes {
  std::int64_t hidden_size;
  std::vector<double> oneshot;
  std::vector<double> twoshot;
};

// Decides rows with the given times, ±half as intervals.
std::vector<DecidedRow> decided_rows(const std::vector<RowTimes>& rows, double half) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const RowTimes& row : rows) {
    for (std::size_t i = 0; i < row.oneshot.size(); ++i) {
      Cell cell = cell_of(std::int64_t{1} << i);
      cell.hidden_size = row.hidden_size;
      benchmark.measurements.push_back(measured(cell, Strategy::kOneshot, row.oneshot[i], half));
      benchmark.measurements.push_back(measured(cell, Strategy::kTwoshot, row.twoshot[i], half));
    }
  }
  return decide(timings_of(benchmark, Launch::kGraph), all_allowed())[0].rows;
}

std::vector<Choice> decided_row(const std::vector<double>& oneshot,
                                const std::vector<double>& twoshot,
                                double half) {
  return decided_rows({{4096, oneshot, twoshot}}, half)[0].choices;
}

std::string digits(const std::vector<Choice>& row) {
  std::string text;
  for (const Choice& choice : row)
    text += std::to_string(static_cast<int>(choice.strategy));
  return text;
}

TEST(Decision, RowsOfAModelAreInOrderAndEveryChoiceIsTheFastestOrATie) {
  for (const DecidedSlice& slice : decided({.world_sizes = {2, 8}})) {
    for (const DecidedRow& row : slice.rows) {
      EXPECT_TRUE(in_order(row)) << row.hidden_size;
      for (const Choice& choice : row.choices)
        EXPECT_LE(choice.chosen()->time_us, choice.timings.front().time_us * 1.021);
    }
  }
}

TEST(Decision, AChangeIsWorthTheTieInOneCell) {
  const auto row = [](double loss) {
    return digits(decided_row({10, 10 * 1.02 * std::exp(loss)}, {20, 10}, 1e-9));
  };
  EXPECT_EQ(row(-0.0001), "44");
  EXPECT_EQ(row(0.0001), "45");
}

TEST(Decision, WithoutATieTheNoiseExcusesNoLoss) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  const std::vector<double> twoshot = {20, 9.3, 20, 9};
  for (std::size_t i = 0; i < twoshot.size(); ++i) {
    const Cell cell = cell_of(std::int64_t{1} << i);
    benchmark.measurements.push_back(measured(cell, Strategy::kOneshot, 10, 0.1));
    benchmark.measurements.push_back(measured(cell, Strategy::kTwoshot, twoshot[i], 0.1));
  }
  const auto slices =
      decide(timings_of(benchmark, Launch::kGraph), {.strategies = all_strategies(), .tie = 0});
  EXPECT_EQ(digits(slices[0].rows[0].choices), "4545");
}

TEST(Decision, AChangeIsWorthSmallGainsOfManyCells) {
  EXPECT_EQ(digits(decided_row({10, 10, 10, 20}, {20, 9.85, 20, 10}, 0.001)), "4445");
  EXPECT_EQ(digits(decided_row({10, 10, 10, 20}, {20, 9.85, 9.85, 10}, 0.001)), "4555");
  // One cell's gain beyond the tie does not outweigh small losses of all others.
  EXPECT_EQ(digits(decided_row({10, 10, 10, 10, 10}, {20, 9.75, 10.15, 10.15, 10.15}, 0.001)),
            "44444");
}

// The row answers for hidden sizes up to halfway to the next.
TEST(Decision, SmallGainsAreNoneWhereTheNeighbouringRowLosesThem) {
  const std::vector<double> ten(5, 10);
  const RowTimes gains{4096, ten, {9.9, 9.9, 9.9, 9.9, 9.9}};
  const auto beside = [&](double twoshot) {
    const RowTimes neighbour{5120, ten, std::vector<double>(5, twoshot)};
    return digits(decided_rows({gains, neighbour}, 0.001)[0].choices);
  };
  EXPECT_EQ(digits(decided_rows({gains}, 0.001)[0].choices), "55555");
  EXPECT_EQ(beside(9.9), "55555");
  EXPECT_EQ(beside(10.5), "44444");
}

TEST(Decision, ANeighbourDoesNotOutweighAClearGain) {
  const std::vector<double> ten(5, 10);
  const RowTimes gains{4096, ten, std::vector<double>(5, 9.5)};
  const RowTimes loses{5120, ten, std::vector<double>(5, 15)};
  EXPECT_EQ(digits(decided_rows({gains, loses}, 0.001)[0].choices), "55555");
}

TEST(Decision, NoiseDoesNotBreakTheOrder) {
  std::size_t rows = 0;
  std::size_t broken_by_argmin = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Benchmark benchmark = synthetic({.noise = 0.03, .seed = seed});
    const Timings timings = timings_of(benchmark, Launch::kGraph);
    const auto ours = decide(timings, all_allowed());
    const auto argmin = decide_by_smallest_time(timings, all_strategies());
    for (const DecidedRow& row : ours[0].rows)
      EXPECT_TRUE(in_order(row)) << "seed " << seed << ", hidden size " << row.hidden_size;
    for (const DecidedRow& row : argmin[0].rows) {
      ++rows;
      if (!in_order(row)) ++broken_by_argmin;
    }
  }
  EXPECT_EQ(rows, 140U);
  EXPECT_GT(broken_by_argmin, 3U);  // the noise suffices to break the order of a plain argmin
}

TEST(Decision, OneGainBelowTheTieIsNone) {
  EXPECT_EQ(digits(decided_row({10, 10}, {20, 9.81}, 0.001)), "44");
  EXPECT_EQ(digits(decided_row({10, 10}, {20, 9.7}, 0.001)), "45");
}

TEST(Decision, OverlappingIntervalsAreNoGain) {
  EXPECT_EQ(digits(decided_row({10, 10}, {20, 9}, 0.06)), "44");
  EXPECT_EQ(digits(decided_row({10, 10}, {20, 9}, 0.02)), "45");
}

TEST(Decision, ATieTakesWhatIsBetterForTheRowAndSaysSo) {
  const auto row = decided_row({10, 9.9, 20}, {20, 10, 10}, 0.001);
  EXPECT_EQ(digits(row), "445");
  EXPECT_EQ(row[0].why, Why::kFaster);
  EXPECT_EQ(row[1].why, Why::kTie);
  EXPECT_EQ(row[1].runner_up()->strategy, Strategy::kTwoshot);
  EXPECT_EQ(row[2].why, Why::kFaster);
  EXPECT_EQ(digits(decided_row({10, 10, 20}, {20, 9.9, 10}, 0.001)), "455");
}

TEST(Decision, AClearContradictionOfTheOrderIsKeptAndNamed) {
  const auto row = decided_row({10, 15, 10, 30}, {20, 10, 15, 20}, 0.005);
  EXPECT_EQ(digits(row), "4545");
  EXPECT_EQ(row[2].why, Why::kAgainstOrder);
}

TEST(Decision, AContradictionWithinTheNoiseIsNotKept) {
  EXPECT_EQ(digits(decided_row({10, 15, 10, 30}, {20, 10, 10.5, 20}, 0.04)), "4555");
}

TEST(Decision, ASmallLossKeepsTheOrder) {
  const auto row = decided_row({10, 15, 10, 30}, {20, 10, 10.4, 20}, 0.001);
  EXPECT_EQ(digits(row), "4555");
  EXPECT_EQ(row[2].why, Why::kKeepsOrder);
  EXPECT_EQ(row[2].runner_up()->strategy, Strategy::kOneshot);
}

TEST(Decision, WhatFailedOrIsAutoIsNeverChosen) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  benchmark.measurements = {measured(cell_of(1), Strategy::kNccl, 30),
                            measured(cell_of(1), Strategy::kAuto, 1),
                            measured(cell_of(1), Strategy::kOneshot, 2)};
  benchmark.measurements[2].outcome = Outcome::kIncorrect;
  const auto slices = decide(timings_of(benchmark, Launch::kGraph), all_allowed());
  const Choice& choice = slices[0].rows[0].choices[0];
  EXPECT_EQ(choice.strategy, Strategy::kNccl);
  EXPECT_EQ(choice.why, Why::kOnly);
  EXPECT_EQ(choice.runner_up(), nullptr);
}

TEST(Decision, OnlyAllowedStrategiesAreChosen) {
  const Timings timings = timings_of(synthetic({}), Launch::kGraph);
  const auto slices = decide(timings, {.strategies = public_strategies()});
  for (const DecidedRow& row : slices[0].rows) {
    for (const Choice& choice : row.choices)
      EXPECT_NE(choice.strategy, Strategy::kTwoshotPush);
  }
}

TEST(Decision, OfOneLaunchOnly) {
  Benchmark benchmark = synthetic({});
  benchmark.measurements.front().launch = Launch::kEager;
  EXPECT_EQ(timings_of(benchmark, Launch::kEager).size(), 1U);
  EXPECT_EQ(timings_of(benchmark, Launch::kGraph).size(), 105U);
}

TEST(Decision, CellsWithoutDataTakeTheNearestOfTheirRowAndSaySo) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  benchmark.measurements = {measured(cell_of(8), Strategy::kOneshot, 3),
                            measured(cell_of(64), Strategy::kTwoshot, 9)};
  DecisionOptions options = all_allowed();
  options.hidden_sizes = {4096, 8192};
  options.num_tokens = {1, 8, 16, 32, 64, 128};
  options.fallback = Strategy::kNcclSymmetric;
  const auto slices = decide(timings_of(benchmark, Launch::kGraph), options);
  const auto& rows = slices[0].rows;
  EXPECT_EQ(digits(rows[0].choices), "444555");
  EXPECT_EQ(rows[0].choices[0].why, Why::kNoData);
  EXPECT_EQ(rows[0].choices[1].why, Why::kOnly);
  EXPECT_EQ(rows[0].choices[2].why, Why::kNoData);
  EXPECT_EQ(rows[0].choices[5].chosen(), nullptr);
  EXPECT_EQ(digits(rows[1].choices), "888888");
  EXPECT_FALSE(rows[1].has_data());
}

TEST(Decision, AStrategyMissingInOneCellIsNoContradiction) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const std::int64_t tokens : {1, 2, 4}) {
    benchmark.measurements.push_back(measured(cell_of(tokens), Strategy::kOneshot, 10));
    if (tokens != 2) {
      benchmark.measurements.push_back(measured(cell_of(tokens), Strategy::kTwoshot, 5));
    }
  }
  const auto slices = decide(timings_of(benchmark, Launch::kGraph), all_allowed());
  const auto& row = slices[0].rows[0].choices;
  EXPECT_EQ(digits(row), "545");
  EXPECT_EQ(row[1].why, Why::kOnly);
}

TEST(Timings, RepeatedRunsAreJoinedAndTheirScatterIsTheInterval) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const double time : {8.0, 10.0, 12.5})
    benchmark.measurements.push_back(measured(cell_of(1), Strategy::kNccl, time, 0.001));
  const Timings timings = timings_of(benchmark, Launch::kGraph);
  const Timing timing = timings.begin()->second.at(0);
  EXPECT_EQ(timing.runs, 3);
  EXPECT_NEAR(timing.time_us, 10, 1e-9);
  const double deviation = std::log(1.25);  // standard deviation of the logarithms -d, 0 and d
  constexpr double kStudent = 4.302653;     // 95 % of two degrees of freedom
  EXPECT_NEAR(timing.high_us, 10 * std::exp(kStudent * deviation / std::sqrt(3)), 1e-5);
}

TEST(Timings, IntervalsOfFewRunsHoldTheTimeAsOftenAsTheySay) {
  constexpr int kCells = 2000;
  constexpr double kTime = 10;
  std::mt19937_64 random(11);
  for (const double scatter : {0.002, 0.02}) {
    for (const int runs : {2, 3, 5}) {
      std::lognormal_distribution<double> time(std::log(kTime), scatter);
      Benchmark benchmark{.sm_version = 90, .measurements = {}};
      for (int i = 0; i < kCells; ++i) {
        Cell cell = cell_of(1);
        cell.hidden_size = 4096 + i;
        for (int run = 0; run < runs; ++run) {
          benchmark.measurements.push_back(
              measured(cell, Strategy::kOneshot, time(random), scatter / 10));
        }
      }
      const Timings timings = timings_of(benchmark, Launch::kGraph);
      const auto held = std::count_if(timings.begin(), timings.end(), [&](const auto& entry) {
        const Timing& timing = entry.second.at(0);
        return timing.low_us <= kTime && kTime <= timing.high_us;
      });
      EXPECT_GE(held, 0.94 * kCells) << runs << " runs, " << scatter;
    }
  }
}

// TWOSHOT was timed in the first and the last of three cells, and is clearly the fastest there.
Benchmark with_gap(Outcome outcome_of_last = Outcome::kOk) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const std::int64_t tokens : {1, 2, 4}) {
    benchmark.measurements.push_back(measured(cell_of(tokens), Strategy::kOneshot, 10));
    if (tokens == 2) continue;
    Measurement twoshot = measured(cell_of(tokens), Strategy::kTwoshot, tokens == 1 ? 5.25 : 6);
    if (tokens == 4) twoshot.outcome = outcome_of_last;
    benchmark.measurements.push_back(twoshot);
  }
  return benchmark;
}

std::string filled_choices(const Benchmark& benchmark) {
  const Timings timings = timings_of(benchmark, Launch::kGraph);
  const auto slices = decide(with_gaps_filled(timings, benchmark, Launch::kGraph), all_allowed());
  return digits(slices[0].rows[0].choices);
}

TEST(Timings, AMissingLineIsNoReasonAgainstAStrategy) {
  const Benchmark benchmark = with_gap();
  EXPECT_EQ(filled_choices(benchmark), "555");
  const Timings filled =
      with_gaps_filled(timings_of(benchmark, Launch::kGraph), benchmark, Launch::kGraph);
  const Timing& between = filled.at(cell_of(2)).at(0);
  EXPECT_EQ(between.strategy, Strategy::kTwoshot);
  EXPECT_EQ(between.runs, 0);
  EXPECT_NEAR(between.time_us, 5.25 + 0.75 / 3, 1e-9);
  EXPECT_LE(between.low_us, 5.25);
  EXPECT_GE(between.high_us, 6);
}

// The line between 2 and 20 us says 8 us, where a step of TWOSHOT may have made 20 of it.
TEST(Timings, AMissingLineIsNoReasonForAStrategyThatMayBeSlower) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const auto& [tokens, oneshot] : {std::pair(1, 5.0), {2, 9.0}, {4, 15.0}})
    benchmark.measurements.push_back(measured(cell_of(tokens), Strategy::kOneshot, oneshot));
  benchmark.measurements.push_back(measured(cell_of(1), Strategy::kTwoshot, 5.1));
  benchmark.measurements.push_back(measured(cell_of(4), Strategy::kTwoshot, 20));
  EXPECT_EQ(filled_choices(benchmark), "444");
}

TEST(Timings, AWideGapStays) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const std::int64_t tokens : {1, 2, 4, 8})
    benchmark.measurements.push_back(measured(cell_of(tokens), Strategy::kOneshot, 10));
  for (const std::int64_t tokens : {1, 8})
    benchmark.measurements.push_back(measured(cell_of(tokens), Strategy::kTwoshot, 5));
  EXPECT_EQ(filled_choices(benchmark), "5445");
}

TEST(Timings, AnOutcomeIsAReason) {
  EXPECT_EQ(filled_choices(with_gap(Outcome::kUnsupported)), "544");
  Benchmark benchmark = with_gap();
  benchmark.measurements.push_back(measured(cell_of(2), Strategy::kTwoshot, kUnknown));
  benchmark.measurements.back().outcome = Outcome::kUnsupported;
  EXPECT_EQ(filled_choices(benchmark), "545");
}

TEST(Timings, AGapLiesWithinARow) {
  Benchmark benchmark = with_gap();
  Cell other = cell_of(1);
  other.hidden_size *= 2;
  benchmark.measurements.push_back(measured(other, Strategy::kOneshot, 10));
  const Timings filled =
      with_gaps_filled(timings_of(benchmark, Launch::kGraph), benchmark, Launch::kGraph);
  EXPECT_EQ(filled.at(other).size(), 1);
}

TEST(Timings, ATimeWithoutAnIntervalGetsTheStatedNoise) {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  benchmark.measurements = {measured(cell_of(1), Strategy::kNccl, 10)};
  const Timings timings = timings_of(benchmark, Launch::kGraph, 0.05);
  EXPECT_NEAR(timings.begin()->second.at(0).low_us, 10 / 1.05, 1e-9);
  EXPECT_NEAR(timings.begin()->second.at(0).high_us, 10.5, 1e-9);
}

using Costs = std::vector<std::vector<std::int64_t>>;

std::int64_t price_of(const Costs& costs,
                      const std::vector<int>& ranks,
                      const RowPrices& prices,
                      const std::vector<std::size_t>& path) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (costs[i][path[i]] == kImpossible) return kImpossible;
    sum += costs[i][path[i]];
    if (i > 0 && path[i] != path[i - 1]) sum += prices.change;
    if (i > 0 && ranks[path[i]] < ranks[path[i - 1]]) sum += prices.back;
  }
  return sum;
}

std::int64_t least_of_all(const Costs& costs,
                          const std::vector<int>& ranks,
                          const RowPrices& prices,
                          std::vector<std::size_t> path = {}) {
  if (path.size() == costs.size()) return price_of(costs, ranks, prices, path);
  std::int64_t least = kImpossible;
  path.push_back(0);
  for (std::size_t state = 0; state < ranks.size(); ++state) {
    path.back() = state;
    least = std::min(least, least_of_all(costs, ranks, prices, path));
  }
  return least;
}

TEST(RowPath, IsTheCheapestOfAllPaths) {
  std::mt19937_64 random(7);
  const std::vector<int> ranks = {0, 1, 4};
  for (int trial = 0; trial < 300; ++trial) {
    Costs costs(6, std::vector<std::int64_t>(3));
    for (auto& cell : costs) {
      for (auto& cost : cell)
        cost = random() % 5 == 0 ? kImpossible : static_cast<std::int64_t>(random() % 40);
      cell[random() % 3] = 0;
    }
    const RowPrices prices{.change = static_cast<std::int64_t>(random() % 10),
                           .back = static_cast<std::int64_t>(random() % 30)};
    const auto path = cheapest_path(costs, ranks, prices);
    ASSERT_EQ(path.size(), costs.size());
    EXPECT_EQ(price_of(costs, ranks, prices, path), least_of_all(costs, ranks, prices));
  }
}

TEST(RowPath, ChangesAsLateAsItMay) {
  const Costs costs = {{0, 9}, {0, 0}, {0, 0}, {9, 0}};
  EXPECT_EQ(cheapest_path(costs, {0, 1}, {.change = 1, .back = 4}),
            (std::vector<std::size_t>{0, 0, 0, 1}));
}

TEST(RowPath, PrefersTheFirstStateWhereAllAreEqual) {
  const Costs costs = {{0, 0}, {0, 0}};
  EXPECT_EQ(cheapest_path(costs, {0, 1}, {}), (std::vector<std::size_t>{0, 0}));
}

TEST(RowPath, GoesBackOnlyForMoreThanItsPrice) {
  const RowPrices prices{.change = 1, .back = 4};  // a change there and back costs 6
  EXPECT_EQ(cheapest_path({{0, 9}, {6, 0}, {0, 9}}, {1, 0}, prices),
            (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_EQ(cheapest_path({{0, 9}, {7, 0}, {0, 9}}, {1, 0}, prices),
            (std::vector<std::size_t>{0, 1, 0}));
}

TEST(RowPath, AnEmptyRowHasAnEmptyPath) {
  EXPECT_TRUE(cheapest_path({}, {0, 1}, {}).empty());
}

}  // namespace

}  // namespace assay::allreduce
