#include "trace/compare/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "trace/compare/all_runs.h"
#include "trace/compare/compare_test_util.h"

namespace assay::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::rank_report;

// The mean step of each run, on two ranks of which the second computes less.
SettingFigures setting(const std::string& label,
                       const std::vector<double>& runs_ms,
                       int first_run = 1) {
  Configuration result{.label = label, .ranks = {}, .collectives = {}, .runs = {}};
  for (const double ms : runs_ms) {
    const int run = runs_ms.size() == 1 ? 0 : static_cast<int>(result.runs.size()) + first_run;
    result.runs.push_back(run);
    for (const int rank : {0, 1}) {
      const std::vector<double> steps = {ms - 0.01, ms, ms + 0.01};
      const std::vector<double> computed(3, rank == 0 ? ms / 2 : ms / 4);
      result.ranks.push_back(
          rank_report(rank, {{"total_time", steps}, {"computation_time", computed}}));
      result.ranks.back().run = run;
    }
  }
  return figures_of(result, Compat::kNone);
}

std::vector<SettingFigures> four() {
  return {setting("base", {60, 60.3, 59.7}), setting("slow", {80, 80.3, 79.7}),
          setting("same", {60.01, 60.31, 59.71}), setting("noisy", {55, 65, 58})};
}

const SettingPair& pair_of(const SettingPairs& pairs, const char* first, const char* second) {
  for (const SettingPair& pair : pairs.pairs)
    if (pairs.labels[pair.first] == first && pairs.labels[pair.second] == second) return pair;
  ADD_FAILURE() << first << " is not before " << second;
  return pairs.pairs.front();
}

TEST(Pairs, EveryPairIsCompared) {
  const std::vector<SettingFigures> settings = four();
  const SettingPairs pairs = compare_pairs(settings, {.tolerance_percent = 2});
  ASSERT_EQ(pairs.pairs.size(), 6U);
  EXPECT_EQ(pair_of(pairs, "base", "slow").change.verdict, Verdict::kBetter);
  EXPECT_EQ(pair_of(pairs, "same", "slow").change.verdict, Verdict::kBetter);
  EXPECT_EQ(pair_of(pairs, "base", "same").change.verdict, Verdict::kSame);
  EXPECT_EQ(pair_of(pairs, "noisy", "base").change.verdict, Verdict::kUnclear);
  EXPECT_NEAR(pair_of(pairs, "base", "slow").change.percent, 25, 1e-9);
  EXPECT_THAT(pairs_in_words(pairs), HasSubstr("of 6 pairs of settings differ for certain"));
  EXPECT_THAT(pairs_in_words(pairs), HasSubstr("1 is the same within 2 % (base and same)"));
}

TEST(Pairs, SettingsThatWereNotAppliedAreInNone) {
  std::vector<SettingFigures> settings = four();
  settings[1].is_applied = false;
  const SettingPairs pairs = compare_pairs(settings, {.tolerance_percent = 2});
  ASSERT_EQ(pairs.pairs.size(), 3U);
  EXPECT_EQ(pair_of(pairs, "base", "same").change.verdict, Verdict::kSame);
  for (const SettingPair& pair : pairs.pairs)
    EXPECT_TRUE(pairs.labels[pair.first] != "slow" && pairs.labels[pair.second] != "slow");
}

// A pair that alone would differ does not among as many as these.
TEST(Pairs, VerdictsAreCorrectedForTheirNumber) {
  const std::vector<double> a = {60, 61.5, 59, 60.7};
  const std::vector<double> b = {63.3, 62, 64, 61.5};
  const std::vector<SettingFigures> alone = {setting("a", a), setting("b", b)};
  const SettingPairs two = compare_pairs(alone, {});
  ASSERT_EQ(two.pairs.front().change.verdict, Verdict::kBetter);
  EXPECT_EQ(pairs_in_words(two), "");
  std::vector<SettingFigures> many = alone;
  for (const char* label : {"c", "d", "e", "f"})
    many.push_back(setting(label, a));
  const SettingPairs all = compare_pairs(many, {});
  const SettingPair& one = pair_of(all, "a", "b");
  EXPECT_EQ(one.change.verdict, Verdict::kUnclear);
  EXPECT_LT(one.change.p, 0.05);
  EXPECT_GT(one.change.p_corrected, 0.05);
}

// Every run takes 3 % more than the one before; "b" takes a 60th less than "a", in turns with it.
TEST(Pairs, ATrendOverAllRunsIsNoDifference) {
  std::vector<SettingFigures> settings = {setting("a", {60.02, 65.56, 67.52, 73.8}),
                                          setting("b", {60.78, 62.58, 68.4, 70.44})};
  settings[0].positions = {{1, 1}, {2, 4}, {3, 5}, {4, 8}};
  settings[1].positions = {{1, 2}, {2, 3}, {3, 6}, {4, 7}};
  const SettingPairs pairs = compare_pairs(settings, {});
  EXPECT_EQ(pairs.noise, JointNoise::Kind::kTrend);
  EXPECT_EQ(pair_of(pairs, "b", "a").change.verdict, Verdict::kBetter);
  EXPECT_NEAR(pair_of(pairs, "b", "a").change.percent, 100.0 / 60, 0.08);
  settings[0].positions.clear();
  EXPECT_EQ(compare_pairs(settings, {}).pairs.front().change.verdict, Verdict::kUnclear);
}

// Repeats 4 to 6 are slower; "early" has the others alone, and "noisy" its own noise.
TEST(Pairs, SettingsThatShareNoRepeatsThatDifferAreNotCompared) {
  std::vector<SettingFigures> settings = {setting("late", {80, 80.1, 79.9}, 4),
                                          setting("early", {60, 60.1, 59.9}),
                                          setting("alike", {60.1, 60, 59.9, 80.1, 80, 79.9}),
                                          setting("noisy", {60, 64, 58, 77, 82, 81})};
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (const int run : settings[i].runs)
      settings[i].positions[run] = 4 * run + static_cast<int>(run % 2 == 0 ? i : 3 - i);
  const SettingPairs pairs = compare_pairs(settings, {});
  ASSERT_EQ(pairs.noise, JointNoise::Kind::kBlocks);
  const auto apart = std::find_if(pairs.pairs.begin(), pairs.pairs.end(),
                                  [](const SettingPair& pair) { return pair.is_apart; });
  ASSERT_NE(apart, pairs.pairs.end());
  EXPECT_EQ(pairs.labels[apart->first] + pairs.labels[apart->second], "earlylate");
  EXPECT_EQ(apart->change.verdict, Verdict::kUnknown);
  EXPECT_NEAR(apart->change.percent, 0, 1);
  EXPECT_THAT(pairs_in_words(pairs), HasSubstr("1 is unknown (early and late)"));
  const model::Table table = pairs_table(pairs);
  const auto row = static_cast<std::size_t>(apart - pairs.pairs.begin());
  EXPECT_EQ(table.at(row, *table.column("verdict")), model::Cell(kApart));
}

// A ranking's intervals are as wide, so that no verdict here contradicts its own.
TEST(Pairs, IntervalsOfOneSettingWithAllOthersHoldTogether) {
  const std::vector<SettingFigures> settings = four();
  const SettingPairs pairs = compare_pairs(settings, {});
  EXPECT_NEAR(pairs.each, 1 - 0.05 / 3, 1e-12);
  for (const SettingPair& pair : pairs.pairs) {
    EXPECT_TRUE(pair.change.verdict != Verdict::kSame ||
                (pair.change.percent_low >= -1 && pair.change.percent_high <= 1));
    EXPECT_TRUE(pair.change.verdict != Verdict::kBetter || pair.change.high < 0);
  }
}

// Runs of steady steps that take as long as told, but for one of twice as long.
SettingFigures with_slow_step(const std::string& label, const std::vector<double>& runs_ms) {
  Configuration result{.label = label, .ranks = {}, .collectives = {}, .runs = {}};
  for (const double ms : runs_ms) {
    result.runs.push_back(static_cast<int>(result.runs.size()) + 1);
    std::vector<double> steps(10, ms);
    steps[6] = 2 * ms;
    result.ranks.push_back(rank_report(0, {{"total_time", steps}}));
    result.ranks.back().run = result.runs.back();
  }
  return figures_of(result, Compat::kNone);
}

TEST(Pairs, AVerdictThatAllStepsContradictIsNone) {
  const std::vector<SettingFigures> settings = {setting("base", {60, 60.3, 59.7}),
                                                with_slow_step("spiky", {58, 58.3, 57.7}),
                                                setting("slow", {80, 80.3, 79.7})};
  const SettingPairs pairs = compare_pairs(settings, {});
  const SettingPair& pair = pair_of(pairs, "spiky", "base");
  EXPECT_EQ(pair.change.verdict, Verdict::kBetter);
  EXPECT_EQ(pair.slow, model::SlowSteps::kOfTest);
  EXPECT_EQ(pairs_in_words(pairs),
            "2 of 3 pairs of settings differ for certain; 1 is judged otherwise by all profiled "
            "steps than by the steady ones (spiky and base).");
  EXPECT_EQ(model::text(pairs_table(pairs).at(0, 8)),
            "Unclear: steady steps Better, all steps Worse");
}

TEST(Pairs, OneRunEachDiffersOnlyInTheseRuns) {
  const std::vector<SettingFigures> settings = {setting("a", {60}), setting("b", {70}),
                                                setting("c", {80})};
  const SettingPairs pairs = compare_pairs(settings, {});
  EXPECT_EQ(pairs.pairs.front().change.verdict, Verdict::kDifferent);
  EXPECT_EQ(pairs_in_words(pairs), "3 of 3 pairs of settings differ in these runs.");
  const model::Table table = pairs_table(pairs);
  ASSERT_EQ(table.row_count(), 3U);
  EXPECT_EQ(model::text(table.at(0, 8)), "Different in these runs");
}

TEST(AllRuns, SummariesHaveAColumnOfEverySetting) {
  const std::vector<SettingFigures> settings = four();
  const model::Book book = all_runs_report(settings, {});
  std::vector<std::string> names;
  for (const model::Table& table : book.tables)
    names.push_back(table.name);
  EXPECT_THAT(names, ElementsAre("Pairs", "Summary", "Per_Rank_Time_ms"));
  const model::Table& summary = *book.find("Summary");
  EXPECT_EQ(model::text(summary.at(0, 0)), "total_time");
  EXPECT_NEAR(model::number(summary.at(0, *summary.column("time ms_base"))), 60, 1e-9);
  EXPECT_NEAR(model::number(summary.at(0, *summary.column("time ms_slow"))), 80, 1e-9);
  EXPECT_EQ(model::number(summary.at(0, *summary.column("num_ranks_slow"))), 2);
  EXPECT_NEAR(model::number(summary.at(0, *summary.column("percent_change_slow"))), -100.0 / 3,
              1e-9);
  const model::Table& ranks = *book.find("Per_Rank_Time_ms");
  const auto row = [&](const char* type, std::int64_t rank) {
    for (std::size_t r = 0; r < ranks.row_count(); ++r)
      if (model::text(ranks.at(r, 0)) == type && ranks.at(r, 1) == model::Cell(rank)) return r;
    return ranks.row_count();
  };
  ASSERT_LT(row("computation_time", 1), ranks.row_count());
  EXPECT_NEAR(model::number(ranks.at(row("computation_time", 1), *ranks.column("time ms_slow"))),
              20, 1e-9);
}

// The public tool's sign is the other one.
TEST(AllRuns, CompatibleChangesArePositiveForLongerTimes) {
  const std::vector<SettingFigures> settings = four();
  const model::Book book = all_runs_report(settings, {.compat = Compat::kTraceLens});
  EXPECT_EQ(book.find("Pairs"), nullptr);
  const model::Table& summary = *book.find("Summary");
  const auto total = [&summary] {
    for (std::size_t r = 0; r < summary.row_count(); ++r)
      if (model::text(summary.at(r, 0)) == "total_time") return r;
    return summary.row_count();
  }();
  EXPECT_NEAR(model::number(summary.at(total, *summary.column("time ms_slow"))), 240, 1e-6);
  EXPECT_NEAR(model::number(summary.at(total, *summary.column("percentage_change_slow"))),
              100.0 / 3, 1e-6);
}

model::Table collective_summary(double latency_us, double bus_gbps) {
  model::Table table{.name = "nccl_summary_implicit_sync",
                     .title = "",
                     .columns = {{.name = "Collective name"},
                                 {.name = "dtype"},
                                 {.name = "In msg nelems"},
                                 {.name = "Group size"},
                                 {.name = "comm_latency_mean"},
                                 {.name = "bus bw (GB/s)_mean"},
                                 {.name = "Total comm latency (ms)"},
                                 {.name = "count"},
                                 {.name = kRepeatColumn}}};
  for (const std::int64_t run : {1, 2, 3})
    table.add_row({"allreduce", "Float", std::int64_t{1024}, std::int64_t{2}, latency_us, bus_gbps,
                   latency_us * 4 / 1000, std::int64_t{4}, run});
  return table;
}

// A collective that only one setting has keeps its row.
TEST(AllRuns, CollectivesOfAnySettingAreShown) {
  std::vector<SettingFigures> settings = four();
  settings[0].collectives.tables = {collective_summary(10, 100)};
  settings[1].collectives.tables = {collective_summary(20, 50)};
  settings[2].collectives.tables = {collective_summary(10, 100)};
  settings[2].collectives.tables[0].at(0, 1) = "Half";
  const model::Book book = all_runs_report(settings, {});
  const model::Table& table = *book.find("NCCL_Summary");
  ASSERT_EQ(table.row_count(), 2U);
  EXPECT_EQ(model::text(table.at(0, 1)), "Float");
  const auto at = [&](std::size_t row, const char* column) {
    return model::number(table.at(row, *table.column(column)));
  };
  EXPECT_DOUBLE_EQ(at(0, "comm_latency_mean_slow"), 20);
  EXPECT_DOUBLE_EQ(at(0, "percent_change_comm_latency_mean_slow"), -100);
  EXPECT_DOUBLE_EQ(at(0, "percent_change_bus bw (GB/s)_mean_slow"), -50);
  EXPECT_DOUBLE_EQ(at(0, "Total comm latency (ms)_slow"), 0.08);
  EXPECT_DOUBLE_EQ(at(0, "count_slow"), 4);
  EXPECT_TRUE(std::isnan(at(0, "count_noisy")));
  EXPECT_TRUE(std::isnan(at(1, "comm_latency_mean_base")));
}

}  // namespace
}  // namespace assay::trace
