// Tests repeated runs in a comparison: which values are repetitions, and how they are described.
#include "trace/compare/repetitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trace/compare/compare.h"
#include "trace/compare/compare_test_util.h"

namespace assay::trace {
namespace {

using model::number;
using model::text;
using testing::all_words;
using testing::cell_where;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::rank_report;

// The steps of each run, on two ranks.
Configuration repeated(const std::string& label, const std::vector<std::vector<double>>& runs) {
  Configuration result{.label = label, .ranks = {}, .collectives = {}, .runs = {}};
  for (const std::vector<double>& steps : runs) {
    const int run = static_cast<int>(result.runs.size()) + 1;
    result.runs.push_back(run);
    for (const int rank : {0, 1}) {
      result.ranks.push_back(rank_report(rank, {{"total_time", steps}}));
      result.ranks.back().run = run;
    }
  }
  return result;
}

Configuration once(const std::string& label, const std::vector<double>& steps) {
  Configuration result = repeated(label, {steps});
  result.runs = {0};
  for (RankReport& report : result.ranks)
    report.run = 0;
  return result;
}

TEST(Repetitions, ARunIsTheMeanOfItsValues) {
  const std::vector<RunValue> values = {{1, 10}, {1, 12}, {2, 20}};
  EXPECT_THAT(repetitions(values, Repetition::kRun), ElementsAre(11, 20));
  EXPECT_THAT(repetitions(values, Repetition::kStep), ElementsAre(10, 12, 20));
  const RunTotals totals = run_totals(values, 2);
  EXPECT_DOUBLE_EQ(totals.sum, 21);
  EXPECT_FALSE(totals.even);
  EXPECT_FALSE(run_totals(std::vector<RunValue>{{1, 10}}, 2).even);  // run 2 has no values
  EXPECT_TRUE(run_totals(std::vector<RunValue>{{1, 10}, {2, 30}}, 2).even);
}

// Steps within a run agree to 0.1 ms, but the runs drift by more than the sides differ.
TEST(Repetitions, DriftBetweenRunsIsNoise) {
  const Configuration a = repeated("a", {{60, 60.1, 59.9}, {64, 64.1, 63.9}, {62, 62.1, 61.9}});
  const Configuration b = repeated("b", {{61, 61.1, 60.9}, {65, 65.1, 64.9}, {63, 63.1, 62.9}});
  EXPECT_EQ(answer({once("a", {60, 60.1, 59.9}), once("b", {61, 61.1, 60.9})}).headline.verdict,
            Verdict::kDifferent);
  const Comparison comparison = compare({a, b}).value();
  EXPECT_EQ(comparison.answer.headline.verdict, Verdict::kUnclear);
  EXPECT_EQ(comparison.answer.headline.baseline_count, 3U);
  EXPECT_FALSE(comparison.answer.regression);
  const std::string words = all_words(comparison.answer);
  EXPECT_THAT(words, HasSubstr("Unclear whether b is faster or slower than a (95 %: "));
  EXPECT_THAT(words, HasSubstr("; 3 runs each): 63.000 against 62.000 ms per steady step. About "));
  EXPECT_THAT(words, HasSubstr(" runs of each would tell a difference of 1.61 % apart."));
  EXPECT_THAT(words, HasSubstr("; 3 runs each) holds zero."));
  EXPECT_THAT(words,
              HasSubstr("It knows the noise between repeated runs: a takes 60.000 … 64.000 ms over "
                        "3 runs, b takes 61.000 … 65.000 ms over 3 runs."));
  EXPECT_THAT(words, HasSubstr("a: 3 runs, 2 ranks, 9 profiled steps"));

  const model::Table& by_rank = *comparison.timeline_comparison.find("Comparison_By_Rank");
  EXPECT_EQ(text(cell_where(by_rank, "rank", "1", "status")), "Unclear");
  EXPECT_EQ(text(cell_where(by_rank, "rank", "1", "a_runs")), "3");
  EXPECT_FALSE(by_rank.column("a_steps"));
  EXPECT_DOUBLE_EQ(number(cell_where(by_rank, "rank", "1", "b_run_max_ms")), 65);
  const model::Table& dashboard = comparison.final_report.tables[0];
  EXPECT_EQ(text(cell_where(dashboard, "Metric", "GPU_total_time", "b runs")), "3");
}

TEST(Repetitions, ChangesBeyondTheDriftAreReal) {
  const Configuration a = repeated("a", {{60, 61}, {60.5, 61.5}, {60.2, 61.2}});
  const Configuration b = repeated("b", {{50, 51}, {50.5, 51.5}, {50.2, 51.2}});
  EXPECT_EQ(answer({a, b}).headline.verdict, Verdict::kBetter);
}

// The steady steps of both sides agree, and the same steps of every run of one side are slow.
TEST(Repetitions, SlowStepsThatEveryRunHasBelongToASetting) {
  const auto side_of = [](const std::string& label, double slow_ms) {
    Configuration side{.label = label, .ranks = {}, .collectives = {}, .runs = {}};
    for (const int run : {1, 2, 3}) {
      const double steady = 60 + 0.01 * run;
      side.runs.push_back(run);
      std::vector<double> steps(8, steady);
      steps[2] += slow_ms;
      side.ranks.push_back(rank_report(0, {{"total_time", steps}}));
      side.ranks.back().run = run;
    }
    return side;
  };
  const Configuration a = side_of("a", 0);
  const Configuration b = side_of("b", 20);
  const Answer slower = answer({a, b});
  EXPECT_EQ(slower.headline.verdict, Verdict::kSame);
  EXPECT_TRUE(slower.regression);
  EXPECT_THAT(all_words(slower), HasSubstr("But over all profiled steps it is 4.17 % slower"));
  EXPECT_THAT(all_words(slower), HasSubstr("What next? Stay with a. Find out"));
  const Answer faster = answer({b, a});
  EXPECT_FALSE(faster.regression);
  EXPECT_THAT(all_words(faster), HasSubstr("What next? The steady steps do not decide. Find out"));
  EXPECT_THAT(all_words(answer({a, side_of("c", 0)})), HasSubstr("What next? Use either."));
}

// One run a side cannot tell whether its slow step comes back.
TEST(Repetitions, AMeanOfAllStepsThatDiffersIsToldBesideATie) {
  Configuration a{.label = "a", .ranks = {}, .collectives = {}};
  Configuration b{.label = "b", .ranks = {}, .collectives = {}};
  a.ranks = {rank_report(0, {{"total_time", {80, 80.1, 79.9, 80, 80, 80.1}}})};
  b.ranks = {rank_report(0, {{"total_time", {80, 80.1, 112, 80, 80, 80.1}}})};
  const Answer told = answer({a, b});
  EXPECT_EQ(told.headline.verdict, Verdict::kSame);
  EXPECT_FALSE(told.regression);
  EXPECT_THAT(told.lines[0].answer, HasSubstr("But over all profiled steps it is 6.69 % slower, "
                                              "which these runs cannot tell from noise."));
  EXPECT_THAT(all_words(told), HasSubstr("See whether the steps that are not steady come back"));
}

// One row of four by p = 0.03 is no finding.
TEST(Repetitions, ARowIsJudgedAmongTheOthers) {
  const auto with_copies = [](const std::string& label, const std::vector<double>& copies_ms) {
    Configuration side{.label = label, .ranks = {}, .collectives = {}, .runs = {}};
    for (const double copies : copies_ms) {
      const int run = static_cast<int>(side.runs.size()) + 1;
      side.runs.push_back(run);
      const double other = 30 + 0.1 * run;
      side.ranks.push_back(rank_report(0, {{"total_time", {60, 60}},
                                           {"exposed_memcpy_time", {copies, copies}},
                                           {"computation_time", {other, other}},
                                           {"exposed_comm_time", {other, other}}}));
      side.ranks.back().run = run;
    }
    return side;
  };
  const Configuration a = with_copies("a", {1.0, 1.1, 0.9});
  const Configuration b = with_copies("b", {1.27, 1.37, 1.17});
  const Comparison comparison = compare({a, b}).value();
  const model::Table& summary = *comparison.timeline_comparison.find("Summary_Comparison");
  const auto value = [&summary](const char* column) {
    return cell_where(summary, "type", "exposed_memcpy_time", column);
  };
  EXPECT_LT(number(value("ci_high_percent")), 0);
  EXPECT_EQ(text(value("status")), "Unclear");
  EXPECT_GT(number(value("p_corrected")), 0.05);
  EXPECT_THAT(
      all_words(comparison.answer),
      HasSubstr("Why is a row unclear whose interval leaves out zero? All rows but those of "
                "the total time are judged together"));
}

// Steps within a run agree to 0.1 ms, runs to 2 ms. By hand: the standard error of the difference
// is 1 sqrt(1 + 1/3), and t(0.975, 2) = 4.302653.
TEST(Repetitions, ALoneRunHasTheNoiseBetweenTheRunsOfTheOtherSide) {
  const Configuration a = repeated("a", {{60, 60.1}, {61, 61.1}, {62, 62.1}});
  const Configuration b = once("b", {64, 64.1, 64.2});
  for (const bool swapped : {false, true}) {
    const Answer result = swapped ? answer({b, a}) : answer({a, b});
    EXPECT_EQ(result.headline.verdict, Verdict::kUnclear);
    EXPECT_EQ(result.headline.baseline_count, swapped ? 1U : 3U);
    EXPECT_NEAR(result.headline.high - result.headline.difference, 4.302653 * std::sqrt(4.0 / 3),
                1e-5);
    const std::string words = all_words(result);
    EXPECT_THAT(words, HasSubstr(swapped ? "1 and 3 runs)" : "3 and 1 run)"));
    EXPECT_THAT(words, HasSubstr("It takes the noise between the runs of a, which takes 60.050 … "
                                 "62.050 ms over 3 runs, for that of b, too, which was run once."));
    EXPECT_THAT(words, HasSubstr("Measure more. About"));
    EXPECT_THAT(words, HasSubstr("Repeat b, too: the noise between its runs is not known."));
  }
  const Answer far = answer({a, once("b", {80, 80.1})});
  EXPECT_EQ(far.headline.verdict, Verdict::kDifferent);
  const std::string words = all_words(far);
  EXPECT_THAT(words, HasSubstr(" slower than a in these runs (95 %: "));
  EXPECT_THAT(words, HasSubstr("Different in these runs, which is all that one run of a side can "
                               "show."));
  EXPECT_THAT(words, Not(HasSubstr("More than 1000 runs")));
}

TEST(Repetitions, WholeTracesOfRepeatedRunsHaveAnInterval) {
  Configuration a = repeated("a", {{60, 60}, {61, 61}});
  const Configuration b = repeated("b", {{50, 50}, {51, 51}});
  testing::drop_steps(a);
  const Answer result = answer({a, b});
  EXPECT_EQ(result.headline.verdict, Verdict::kBetter);
  EXPECT_EQ(result.baseline_steps, 0U);
}

TEST(Repetitions, CombinedSheetsNameTheRepeat) {
  const Configuration a = repeated("a", {{60}, {61}});
  const Configuration b = once("b", {60});
  const model::Table summary =
      *compare({a, b}).value().timeline_combined.find("All_Ranks_Combined");
  ASSERT_EQ(summary.row_count(), 6U);
  EXPECT_EQ(text(summary.at(2, *summary.column("repeat"))), "2");
  EXPECT_EQ(text(summary.at(4, *summary.column("repeat"))), "");
  EXPECT_EQ(summary.columns.back().name, "source");
}

// Two runs of two instances each; each row names its run.
Configuration collectives(const std::string& label, const std::vector<double>& latencies_us) {
  Configuration result{.label = label, .ranks = {}, .collectives = {}, .runs = {1, 2}};
  std::vector<testing::Instance> instances;
  for (const double latency : latencies_us)
    instances.push_back({"allreduce", 4, latency, 100, 16});
  model::Table with_repeats = testing::implicit_sync(instances);
  model::Table table = with_repeats;
  table.cells.clear();
  table.columns.push_back({.name = kRepeatColumn});
  for (std::size_t row = 0; row < with_repeats.row_count(); ++row) {
    std::vector<model::Cell> cells;
    for (std::size_t column = 0; column < with_repeats.columns.size(); ++column)
      cells.push_back(with_repeats.at(row, column));
    cells.emplace_back(std::int64_t{row < 2 ? 1 : 2});
    table.add_row(std::move(cells));
  }
  result.collectives = testing::book_of(std::move(table));
  return result;
}

TEST(Repetitions, CollectivesAreJudgedOverRuns) {
  const Configuration a = collectives("a", {10, 10.1, 14, 14.1});
  const Configuration b = collectives("b", {11, 11.1, 15, 15.1});
  const Comparison comparison = compare({a, b}).value();
  const model::Table& table = *comparison.collective_comparison.find("nccl_implicit_sync_cmp");
  const auto value = [&table](const char* column) {
    return cell_where(table, "Collective name", "allreduce", column);
  };
  EXPECT_EQ(text(value("status")), "Unclear");
  EXPECT_EQ(text(value("a_runs")), "2");
  EXPECT_EQ(text(value("a_count")), "4");
  EXPECT_DOUBLE_EQ(number(value("a_run_min_comm_latency (us)")), 10.05);
  EXPECT_DOUBLE_EQ(number(value("a_Total comm latency (ms)")), 0.0241);  // per run
  EXPECT_NEAR(number(value("diff_Total comm latency (ms)")), 0.002, 1e-12);
  EXPECT_THAT(all_words(comparison.answer), HasSubstr("10.1 … 14.1 µs over 2 runs"));

  const Configuration uneven = collectives("b", {11, 11.1, 15});
  const model::Table other =
      *compare({a, uneven}).value().collective_comparison.find("nccl_implicit_sync_cmp");
  EXPECT_EQ(text(cell_where(other, "Collective name", "allreduce", "diff_Total comm latency (ms)")),
            "");
}

model::Facts facts(const std::string& nccl, double clock_mhz) {
  return {{.item = "NCCL version", .value = nccl},
          {.item = "SM clock",
           .value = clock_mhz,
           .unit = "MHz",
           .compare = model::Fact::Compare::kWithin,
           .tolerance_percent = 3}};
}

TEST(Environment, DifferencesAreNamedOncePerItem) {
  Configuration a = repeated("a", {{60}, {61}});
  Configuration b = repeated("b", {{60}, {61}});
  a.environments = {{1, facts("2.28.3", 1980)}, {2, facts("2.28.3", 1970)}};
  b.environments = {{1, facts("2.27.1", 1980)}, {2, facts("2.27.1", 1500)}};
  const Answer result = answer({a, b});
  ASSERT_EQ(result.environment_differences.size(), 3U);
  EXPECT_EQ(in_words(result.environment_differences[0]),
            "different NCCL version: 2.28.3 in a/repeat1, 2.27.1 in b");
  EXPECT_EQ(result.environment_differences[0].runs_differing, 2);
  EXPECT_EQ(result.environment_differences[1].first_run, "b/repeat2");
  EXPECT_THAT(in_words(result.environment_differences[2]), HasSubstr("in b/repeat1, 1500"));
  EXPECT_THAT(all_words(result), HasSubstr("Was all else the same? No. Measured with different"));
}

TEST(Environment, AgreementIsSaidAndIgnoranceIsNot) {
  Configuration a = once("a", {60, 61});
  Configuration b = once("b", {60, 61});
  EXPECT_THAT(all_words(answer({a, b})), Not(HasSubstr("all else")));
  a.environments = {{0, facts("2.28.3", 1980)}};
  b.environments = {{0, facts("2.28.3", 1960)}};
  EXPECT_THAT(all_words(answer({a, b})), HasSubstr("Yes, as far as the runs recorded it."));
}

}  // namespace
}  // namespace assay::trace
