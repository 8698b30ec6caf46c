#include "allreduce/validate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "allreduce/shipped_tables.h"
#include "allreduce/synthetic_test_util.h"

namespace assay::allreduce {
namespace {

Cell cell_of(int world_size, std::int64_t tokens) {
  return {.world_size = world_size, .hidden_size = 1024, .num_tokens = tokens};
}

Timings held_out() {
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  const auto add = [&](int world_size, std::int64_t tokens, double oneshot, double twoshot) {
    const Cell cell = cell_of(world_size, tokens);
    if (oneshot > 0) {
      benchmark.measurements.push_back(measured(cell, Strategy::kOneshot, oneshot));
    }
    benchmark.measurements.push_back(measured(cell, Strategy::kTwoshot, twoshot));
    benchmark.measurements.push_back(measured(cell, Strategy::kTwoshotPush, 1));
  };
  add(2, 1, 10, 11);  // the regret of ONESHOT is 0
  add(2, 2, 12, 10);  // 20 %
  add(4, 1, 15, 10);  // 50 %
  add(4, 2, 0, 10);   // not measured
  return timings_of(benchmark, Launch::kGraph);
}

Contender oneshot_always() {
  return {.name = "ONESHOT always",
          .arms_name = "two",
          .arms = {Strategy::kOneshot, Strategy::kTwoshot},
          .choose = [](const Cell&) { return Strategy::kOneshot; }};
}

TEST(Regret, IsAgainstTheFastestOfTheSameArms) {
  const Regret regret = regret_of(oneshot_always(), held_out());
  EXPECT_EQ(regret.cells, 3U);
  EXPECT_EQ(regret.not_measured, 1U);
  EXPECT_NEAR(regret.p50, 0.2, 1e-12);
  EXPECT_NEAR(regret.p95, 0.2 + 0.9 * 0.3, 1e-12);  // 1.9 steps into 0, 0.2, 0.5
  EXPECT_NEAR(regret.max, 0.5, 1e-12);
  EXPECT_NEAR(regret.geometric_mean, std::cbrt(1.2 * 1.5) - 1, 1e-12);
  EXPECT_EQ(regret.worst, cell_of(4, 1));
  EXPECT_EQ(regret.worst_choice, Strategy::kOneshot);
  EXPECT_EQ(regret.worst_best, Strategy::kTwoshot);
}

TEST(Regret, OfOneTp) {
  const Regret regret = regret_of(oneshot_always(), held_out(), {.world_size = 2});
  EXPECT_EQ(regret.cells, 2U);
  EXPECT_NEAR(regret.max, 0.2, 1e-12);
}

TEST(Regret, OfNothingIsNoFigure) {
  const Regret regret = regret_of(oneshot_always(), held_out(), {.world_size = 8});
  EXPECT_EQ(regret.cells, 0U);
  EXPECT_TRUE(std::isnan(regret.p95));
}

TEST(Regret, OfOurTableOnHeldOutShapesIsSmallAndBelowTheArgmins) {
  const Benchmark tuning = synthetic({.world_sizes = {8}, .noise = 0.01});
  const Benchmark held = synthetic({.world_sizes = {8},
                                    .hidden_sizes = {2880, 5120, 7168},
                                    .num_tokens = {1, 3, 7, 50, 100, 200, 700, 3000}});
  const auto tables = tune(tuning, {}, "synthetic");
  ASSERT_TRUE(tables.ok());
  const Timings timings = timings_of(held, Launch::kGraph);
  const auto all = contenders(tables.value());
  const Regret ours = regret_of(all[0], timings);
  const Regret argmin = regret_of(all[1], timings);
  EXPECT_EQ(ours.cells, 24U);
  EXPECT_LE(ours.p95, 0.03);
  EXPECT_LE(ours.max, 0.1);
  EXPECT_LT(ours.geometric_mean, argmin.geometric_mean);
  EXPECT_DOUBLE_EQ(validate(tables.value(), timings).table_p95, ours.p95);
}

TEST(Stability, OfTwoNoisyMeasurementsIsHighBeyondTies) {
  Stability ours;
  std::size_t argmin_different = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Timings one = timings_of(
        synthetic({.world_sizes = {2, 4, 8}, .noise = 0.01, .seed = seed}), Launch::kGraph);
    const Timings other = timings_of(
        synthetic({.world_sizes = {2, 4, 8}, .noise = 0.01, .seed = seed + 100}), Launch::kGraph);
    const DecisionOptions options{.strategies = all_strategies()};
    const Stability found = stability_of(decide(one, options), decide(other, options), options.tie);
    ours.cells += found.cells;
    ours.beyond_ties += found.beyond_ties;
    argmin_different +=
        stability_of(decide_by_smallest_time(one, options.strategies),
                     decide_by_smallest_time(other, options.strategies), options.tie)
            .different;
  }
  EXPECT_EQ(ours.cells, 3150U);
  EXPECT_LE(static_cast<double>(ours.beyond_ties), 0.01 * static_cast<double>(ours.cells));
  EXPECT_GT(argmin_different, 0U);
}

TEST(Stability, CountsAChangeThatIsNoTie) {
  const auto decided = [](double oneshot) {
    Benchmark benchmark{.sm_version = 90, .measurements = {}};
    benchmark.measurements = {measured(cell_of(2, 1), Strategy::kOneshot, oneshot),
                              measured(cell_of(2, 1), Strategy::kTwoshot, 10)};
    return decide(timings_of(benchmark, Launch::kGraph), {.strategies = all_strategies()});
  };
  const Stability far = stability_of(decided(5), decided(12), 0.02);
  EXPECT_EQ(far.different, 1U);
  EXPECT_EQ(far.beyond_ties, 1U);
  const Stability near = stability_of(decided(9), decided(11.111), 0.02);
  EXPECT_EQ(near.different, 1U);
  EXPECT_EQ(near.beyond_ties, 0U);
}

TEST(Contenders, LookUpShippedTablesAsTensorRtLlmDoes) {
  const auto shipped = shipped_tables();
  const LookupTable& old = shipped[0].table;
  EXPECT_EQ(old.lookup(2, Fusion::kNone, 4096, 2), Strategy::kTwoshot);  // the cell known to be bad
  EXPECT_EQ(old.lookup(2, Fusion::kNone, 7168, 3), Strategy::kTwoshot);  // floored to that cell
  EXPECT_EQ(old.lookup(3, Fusion::kNone, 4096, 2), Strategy::kTwoshot);
  EXPECT_EQ(old.lookup(8, Fusion::kNone, 4096, 128), Strategy::kTwoshot);
  EXPECT_EQ(shipped[1].table.lookup(8, Fusion::kNone, 4096, 128), Strategy::kNccl);
  EXPECT_EQ(old.lookup(2, Fusion::kNone, 127, 2), Strategy::kNccl);
  EXPECT_EQ(old.lookup(2, Fusion::kNone, 128, 32767), Strategy::kNccl);
  EXPECT_EQ(old.lookup(16, Fusion::kNone, 128, 1), Strategy::kNccl);
  EXPECT_EQ(old.measured_count(), 945U);
}

TEST(Contenders, ShippedTablesDifferWhereTheyAreKnownTo) {
  const auto shipped = shipped_tables();
  std::size_t changed = 0;
  for (std::size_t i = 0; i < shipped[0].table.cells.size(); ++i)
    changed += shipped[0].table.cells[i] == shipped[1].table.cells[i] ? 0 : 1;
  EXPECT_EQ(changed, 142U);
}

TEST(Contenders, FlashInfersRuleEndsAtItsLimit) {
  // At TP 8, 2 * 8 * 2 * 1024 * tokens is at most 42 MiB up to 1344 tokens.
  EXPECT_EQ(flashinfer_rule(cell_of(8, 1344)), Strategy::kOneshot);
  EXPECT_EQ(flashinfer_rule(cell_of(8, 1345)), Strategy::kTwoshot);
}

TEST(Stability, NeedsACellThatIsMeasuredInBoth) {
  const auto tuned = [](std::int64_t tokens) {
    Benchmark benchmark{.sm_version = 90, .measurements = {}};
    benchmark.measurements = {measured(cell_of(4, tokens), Strategy::kNccl, 10)};
    return tune(benchmark, {}, "").value();
  };
  EXPECT_TRUE(stability_table(tuned(1), tuned(1)).ok());
  const auto apart = stability_table(tuned(1), tuned(3));
  ASSERT_FALSE(apart.ok());
  EXPECT_EQ(apart.error().message,
            "no cell is measured in both folders, so no choices can be compared");
}

}  // namespace
}  // namespace assay::allreduce
