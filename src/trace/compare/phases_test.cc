#include "trace/compare/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/compare/compare_test_util.h"

namespace assay::trace {
namespace {

using ::testing::HasSubstr;

struct Served {
  const char* phase;
  std::int64_t requests;
  double ms;
};

Configuration served(const std::string& label, const std::vector<Served>& steps) {
  Configuration result{.label = label, .ranks = {}, .collectives = {}};
  for (const int rank : {0, 1}) {
    std::vector<double> times;
    model::Table table{.name = kInferenceStepsSheet,
                       .title = "",
                       .columns = {{.name = "step"},
                                   {.name = "phase"},
                                   {.name = "batch size"},
                                   {.name = "time ms"},
                                   {.name = "compute ms"}}};
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // The ranks of one step are not repetitions: their difference is no noise.
      const double ms = steps[i].ms + (rank == 0 ? 0.5 : -0.5);
      times.push_back(ms);
      table.add_row({static_cast<std::int64_t>(i), std::string(steps[i].phase), steps[i].requests,
                     ms, ms / 2});
    }
    result.ranks.push_back(testing::rank_report(rank, {{"total_time", times}}));
    result.ranks.back().book.tables.push_back(std::move(table));
  }
  return result;
}

const PhaseChange& change_of(const std::vector<PhaseChange>& changes,
                             const std::string& phase,
                             std::optional<std::int64_t> requests) {
  for (const PhaseChange& change : changes)
    if (change.phase == phase && change.requests == requests) return change;
  ADD_FAILURE() << "no row of " << phase;
  return changes.front();
}

// Prefill is as it was; decoding eight requests takes longer, decoding four does not.
TEST(Phases, EachHasItsOwnVerdict) {
  const Configuration a = served("a", {{"prefill", 1, 50},
                                       {"decode", 4, 10},
                                       {"decode", 4, 10.01},
                                       {"decode", 8, 12},
                                       {"decode", 8, 12.01},
                                       {"prefill", 1, 50.01}});
  const Configuration b = served("b", {{"prefill", 1, 50},
                                       {"decode", 4, 10.01},
                                       {"decode", 4, 10},
                                       {"decode", 8, 18},
                                       {"decode", 8, 18.01},
                                       {"prefill", 1, 50.01}});
  const Sides sides{a, b};
  const std::vector<PhaseChange> changes = compare_phases(sides);
  ASSERT_EQ(changes.size(), 4U);  // a phase of one batch size is told once
  EXPECT_EQ(change_of(changes, "prefill", std::nullopt).time_ms.verdict, Verdict::kSame);
  EXPECT_EQ(change_of(changes, "decode", 4).time_ms.verdict, Verdict::kSame);
  const PhaseChange& slower = change_of(changes, "decode", 8);
  EXPECT_EQ(slower.time_ms.verdict, Verdict::kDifferent);
  EXPECT_NEAR(slower.time_ms.difference, 6, 1e-9);
  EXPECT_NEAR(slower.baseline.compute_ms, 6.0025, 1e-9);
  EXPECT_EQ(slower.test_steps, 2U);
  const model::Table table = phases_table(changes, sides);
  EXPECT_EQ(table.row_count(), 4U);
  EXPECT_THAT(phases_in_words(changes, sides), HasSubstr("prefill: 50.005 to 50.005 ms"));
}

TEST(Phases, StepsThatNotAllRanksHaveDoNotCount) {
  const std::vector<Served> steps = {{"decode", 4, 10}, {"decode", 4, 10.1}, {"decode", 4, 30}};
  Configuration cut = served("b", steps);
  cut.ranks[1] = served("b", {steps[0], steps[1]}).ranks[1];
  const Configuration whole = served("a", steps);
  const Sides sides{whole, cut};
  const std::vector<PhaseChange> changes = compare_phases(sides);
  const Change& change = change_of(changes, "decode", std::nullopt).time_ms;
  EXPECT_EQ(change.baseline_count, 3U);
  EXPECT_EQ(change.test_count, 2U);
  EXPECT_NEAR(change.test, 10.05, 1e-9);
}

TEST(Phases, OfOneSideAloneAreShown) {
  const Configuration a = served("a", {{"decode", 4, 10}, {"decode", 4, 10.1}});
  const Configuration b = served("b", {{"mixed", 4, 30}, {"decode", 4, 10}});
  const std::vector<PhaseChange> changes = compare_phases({a, b});
  EXPECT_EQ(change_of(changes, "mixed", std::nullopt).time_ms.verdict, Verdict::kOnlyTest);
}

TEST(Phases, TrainingHasNone) {
  const Configuration a{.label = "a",
                        .ranks = {testing::rank_report(0, {{"total_time", {1, 2}}})},
                        .collectives = {}};
  EXPECT_TRUE(compare_phases({a, a}).empty());
}

}  // namespace
}  // namespace assay::trace
