#include "trace/compare/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

#include "trace/compare/all_runs.h"
#include "trace/compare/compare_test_util.h"

namespace assay::trace {
namespace {

using ::testing::HasSubstr;

// Collectives of three ranks, each with the rank that came last and what the others waited.
struct Meeting {
  int last = 0;
  double wait_us = 0;
};

model::Table meetings(const std::vector<Meeting>& all) {
  model::Table table{.name = "nccl_implicit_sync", .title = "", .columns = {}};
  for (const int rank : {0, 1, 2})
    table.columns.push_back({.name = "rank_" + std::to_string(rank) + "_ts"});
  for (const int rank : {0, 1, 2})
    table.columns.push_back({.name = "rank_" + std::to_string(rank) + "_wait_time"});
  // The rows are not in the order of time.
  for (std::size_t i = all.size(); i-- > 0;) {
    std::vector<model::Cell> row;
    for (const int rank : {0, 1, 2})
      row.emplace_back(1000.0 * static_cast<double>(i) + rank);
    for (const int rank : {0, 1, 2})
      row.emplace_back(rank == all[i].last ? 0.0 : all[i].wait_us);
    table.add_row(std::move(row));
  }
  return table;
}

// Two steps, in which each rank computes for as long as told.
Configuration configuration(const std::vector<double>& compute_ms, const model::Table& table) {
  Configuration result{.label = "a", .ranks = {}, .collectives = {}};
  for (std::size_t rank = 0; rank < compute_ms.size(); ++rank)
    result.ranks.push_back(testing::rank_report(
        static_cast<int>(rank),
        {{"total_time", {20, 20}}, {"computation_time", {compute_ms[rank], compute_ms[rank]}}}));
  result.collectives.tables.push_back(table);
  return result;
}

TEST(Stragglers, WhoHowOftenHowStableAndWhy) {
  const Configuration run = configuration(
      {10, 11.5, 10}, meetings({{1, 500}, {1, 500}, {0, 20}, {1, 500}, {1, 500}, {1, 500}}));
  const std::vector<SettingFigures> settings = {figures_of(run, Compat::kNone)};
  const std::vector<RankArrivals> ranks = rank_arrivals(settings);
  ASSERT_EQ(ranks.size(), 3U);
  const RankArrivals& first = ranks.front();
  EXPECT_EQ(first.rank, 1);
  EXPECT_EQ(first.last, 5);
  EXPECT_EQ(first.collectives, 6);
  EXPECT_EQ(first.halves_led, 2);
  EXPECT_EQ(first.halves, 2);
  EXPECT_NEAR(first.others_wait_ms, 5 * 0.5 / 2, 1e-9);  // over two steps
  EXPECT_NEAR(first.compute_ms, 1.5, 1e-9);
  EXPECT_EQ(why_last(first),
            "computes 1.5 ms a step longer than the middle rank, all of what the others wait");
  EXPECT_THAT(stragglers_in_words(settings, ranks),
              HasSubstr("a: rank 1 in 83 % of collectives, most often in 2 of 2 halves of runs"));
  const model::Book book = all_runs_report(std::vector{settings[0], settings[0]}, {});
  ASSERT_NE(book.find("Stragglers"), nullptr);
  EXPECT_EQ(book.find("Stragglers")->row_count(), 6U);
}

// Each rank leads one half: nobody is the straggler.
TEST(Stragglers, OneThatChangesIsNotStable) {
  const Configuration run =
      configuration({10, 10, 10}, meetings({{1, 50}, {1, 50}, {2, 50}, {0, 50}, {0, 50}, {2, 50}}));
  const std::vector<SettingFigures> settings = {figures_of(run, Compat::kNone)};
  EXPECT_EQ(stragglers_in_words(settings, rank_arrivals(settings)),
            "No rank comes last steadily in any setting.");
}

// In the first two collectives nobody comes last, since all ranks start together.
TEST(Stragglers, NobodyComesLastWhereSeveralDo) {
  const Configuration run =
      configuration({10, 10, 10}, meetings({{1, 0}, {1, 0}, {2, 50}, {2, 50}}));
  const std::vector<SettingFigures> settings = {figures_of(run, Compat::kNone)};
  for (const RankArrivals& rank : rank_arrivals(settings)) {
    EXPECT_EQ(rank.last, rank.rank == 2 ? 2 : 0) << rank.rank;
    EXPECT_EQ(rank.collectives, 4);
  }
}

TEST(Stragglers, TheLargestCauseIsToldWithItsShareOfTheWait) {
  RankArrivals rank{.others_wait_ms = 10, .compute_ms = 0.05, .host_ms = 0.09};
  EXPECT_EQ(why_last(rank), "nothing that the traces show");
  rank.compute_ms = 2;
  EXPECT_EQ(why_last(rank),
            "mostly nothing that the traces show; it computes 2 ms a step longer than the middle "
            "rank, 20 % of what the others wait");
  rank.host_ms = 8;
  EXPECT_EQ(why_last(rank),
            "waits 8 ms a step longer for its host than the middle rank, 80 % of what the others "
            "wait");
  rank.others_wait_ms = kNaN;
  EXPECT_EQ(why_last(rank), "waits 8 ms a step longer for its host than the middle rank");
}

// Two ranks come last equally often, and in turns.
TEST(Stragglers, ATieIsNotSteady) {
  std::vector<Meeting> all;
  for (int i = 0; i < 12; ++i)
    all.push_back({i % 2, 50});
  const Configuration run = configuration({10, 10, 10}, meetings(all));
  const std::vector<SettingFigures> settings = {figures_of(run, Compat::kNone)};
  EXPECT_EQ(stragglers_in_words(settings, rank_arrivals(settings)),
            "No rank comes last steadily in any setting.");
}

// Tells how the ranks of a simulated sweep compute, beside noise of each collective of 1.
struct Computing {
  int ranks = 4;
  double first_longer = 0;  // by which the first rank computes longer
  double of_run = 0;        // the standard deviation of what a rank has for a whole run
  bool rounded = false;     // times are whole numbers, so that ranks often come last together
  double hiccups = 0;       // the share of collectives before which a rank takes 100 longer
};

RunArrivals simulated_run(const Computing& computing, std::mt19937_64& random) {
  constexpr int kCollectives = 20;
  std::normal_distribution<double> normal;
  std::bernoulli_distribution hiccup(computing.hiccups);
  std::vector<double> own(static_cast<std::size_t>(computing.ranks));
  for (double& rank : own)
    rank = computing.of_run * normal(random);
  own[0] += computing.first_longer;
  RunArrivals run;
  for (int i = 0; i < kCollectives; ++i) {
    Arrival arrival;
    std::vector<double> times;
    for (int rank = 0; rank < computing.ranks; ++rank) {
      arrival.ranks.push_back(rank);
      const double time = own[static_cast<std::size_t>(rank)] + normal(random) +
                          (computing.hiccups > 0 && hiccup(random) ? 100 : 0);
      times.push_back(computing.rounded ? std::round(time) : time);
    }
    const auto last = std::max_element(times.begin(), times.end());
    if (std::count(times.begin(), times.end(), *last) == 1)
      arrival.last_rank = static_cast<int>(std::distance(times.begin(), last));
    for (const double time : times)
      arrival.others_wait_us += (*last - time) / (computing.ranks - 1);
    run.arrivals.push_back(std::move(arrival));
  }
  return run;
}

// Returns in how many percent of sweeps a rank is named in any setting.
double named_percent(std::size_t settings, int runs, const Computing& computing) {
  constexpr int kSweeps = 500;
  std::mt19937_64 random(1);
  int named = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    std::vector<SettingFigures> all(settings);
    for (SettingFigures& setting : all)
      for (int run = 0; run < runs; ++run)
        setting.arrivals.push_back(simulated_run(computing, random));
    const std::vector<RankArrivals> ranks = rank_arrivals(all);
    if (std::any_of(ranks.begin(), ranks.end(), [](const RankArrivals& one) { return one.steady; }))
      ++named;
  }
  return 100.0 * named / kSweeps;
}

TEST(Stragglers, NoiseAloneSeldomNamesARank) {
  for (const std::size_t settings : {1U, 8U}) {
    for (const int runs : {1, 2, 3, 6}) {
      for (const int ranks : {2, 4}) {
        const std::string what = std::to_string(settings) + "_settings_" + std::to_string(runs) +
                                 "_runs_" + std::to_string(ranks) + "_ranks";
        SCOPED_TRACE(what);
        const auto named = [&](const char* name, const Computing& computing) {
          const double percent = named_percent(settings, runs, computing);
          RecordProperty(name + what, std::to_string(percent));
          return percent;
        };
        EXPECT_LE(named("alike_", {.ranks = ranks}), 6);
        EXPECT_LE(named("tied_", {.ranks = ranks, .rounded = true}), 7);
        EXPECT_LE(named("hiccups_", {.ranks = ranks, .hiccups = 0.01}), 6);
        // Fewer runs cannot tell what two ranks have for a whole run from what they always have.
        if (runs < 3 || (runs < 6 && ranks == 2)) continue;
        EXPECT_LE(named("runs_", {.ranks = ranks, .of_run = 1}), 6);
      }
    }
  }
}

TEST(Stragglers, ARankThatComputesLongerIsNamed) {
  for (const int runs : {1, 2, 3, 6})
    EXPECT_GE(named_percent(1, runs, {.first_longer = 3}), 99) << runs << " runs";
}

TEST(Stragglers, HiccupsDoNotHideARankThatComputesLonger) {
  for (const int runs : {1, 2, 3, 6}) {
    const double percent = named_percent(1, runs, {.first_longer = 3, .hiccups = 0.01});
    RecordProperty("hiccups_" + std::to_string(runs), std::to_string(percent));
    EXPECT_GE(percent, runs == 1 ? 80 : 99) << runs << " runs";
  }
}

TEST(Stragglers, RunsWithoutCollectivesHaveNone) {
  const Configuration run{.label = "a",
                          .ranks = {testing::rank_report(0, {{"total_time", {1, 2}}})},
                          .collectives = {}};
  const std::vector<SettingFigures> settings = {figures_of(run, Compat::kNone)};
  EXPECT_EQ(stragglers_table(settings).row_count(), 0U);
}

}  // namespace
}  // namespace assay::trace
