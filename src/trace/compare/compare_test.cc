#include "trace/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/compare/compare_test_util.h"
#include "trace/compare/final_report.h"

namespace assay::trace {
namespace {

using model::text;
using testing::all_words;
using ::testing::AnyOf;
using testing::book_of;
using testing::cell_where;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::implicit_sync;
using testing::rank_report;
using ::testing::StartsWith;

// Each step has 40 ms of computation; the rest is communication.
Configuration configuration(const std::string& label, const std::vector<double>& total_ms) {
  std::vector<double> exposed;
  for (const double time : total_ms)
    exposed.push_back(time - 40);
  const std::vector<double> computation(total_ms.size(), 40);
  Configuration result{.label = label, .ranks = {}, .collectives = {}};
  for (const int rank : {0, 1})
    result.ranks.push_back(rank_report(rank, {{"computation_time", computation},
                                              {"exposed_comm_time", exposed},
                                              {"busy_time", total_ms},
                                              {"total_time", total_ms}}));
  result.collectives = book_of(implicit_sync(
      {{"allreduce", 4, exposed[0], 100, 16}, {"allreduce", 4, exposed.back(), 100, 16}}));
  return result;
}

void expect_no_nan(const model::Book& book) {
  for (const model::Table& table : book.tables)
    for (const model::Cell& cell : table.cells) {
      if (const double* value = std::get_if<double>(&cell)) {
        EXPECT_EQ(*value, *value) << table.name;
      }
      EXPECT_EQ(text(cell).find("nan"), std::string::npos) << table.name << ": " << text(cell);
    }
}

TEST(Compare, ARegressionIsToldAndExplained) {
  const Configuration a = configuration("a", {60.0, 60.1, 59.9});
  const Configuration b = configuration("b", {66.0, 66.1, 65.9});
  const Comparison comparison = compare({a, b}).value();
  EXPECT_TRUE(comparison.answer.regression);
  const std::string words = all_words(comparison.answer);
  EXPECT_THAT(
      words,
      HasSubstr("b is 10 % slower than a in these runs (95 %: 9.62 to 10.4 %; 3 steps each): "
                "66.000 against 60.000 ms per steady step."));
  EXPECT_THAT(words, HasSubstr("In these runs, a is the faster."));
  EXPECT_THAT(words, HasSubstr("Is it real? Different in these runs, which is all that"));
  EXPECT_THAT(words, HasSubstr("Where does it come from? exposed_comm_time +6.000 ms (different in "
                               "these runs).\n"));
  EXPECT_THAT(words, HasSubstr("different in these runs on 2 of 2 ranks (0, 1)"));
  EXPECT_THAT(words, HasSubstr("allreduce BFloat16 4: latency"));
  EXPECT_THAT(words, HasSubstr("channels 16 to 16"));
  EXPECT_FALSE(compare({b, a}).value().answer.regression);
}

TEST(Compare, TheDashboardIsFirstAndTheAnswerFollows) {
  const Configuration a = configuration("a", {60.0, 60.1, 59.9});
  const Configuration b = configuration("b", {57.0, 57.1, 56.9});
  const Comparison comparison = compare({a, b}).value();
  const model::Book& report = comparison.final_report;
  EXPECT_EQ(report.tables[0].name, "Summary_Dashboard");
  EXPECT_EQ(report.tables[1].name, "Answer");
  const model::Table& dashboard = report.tables[0];
  EXPECT_EQ(text(dashboard.at(0, 0)), "GPU_total_time");
  EXPECT_EQ(text(cell_where(dashboard, "Metric", "GPU_total_time", "Verdict")),
            "Different in these runs");
  EXPECT_EQ(text(cell_where(dashboard, "Metric", "GPU_total_time", "In words")),
            "Different in these runs: -3.000 ms per steady step.");
  EXPECT_GT(model::number(cell_where(dashboard, "Metric", "GPU_total_time", "95 % CI low (%)")), 0);
  EXPECT_EQ(dashboard.title, "b against a");
  EXPECT_THAT(
      dashboard.notes,
      ElementsAre(
          "a: 2 ranks, 3 profiled steps; b: 2 ranks, 3 profiled steps.",
          StartsWith("b is 5 % faster than a in these runs (95 %: "),
          StartsWith("Where does it come from? exposed_comm_time -3.000 ms (different in these "
                     "runs)"),
          StartsWith("What next? Run each three times or more")));
  EXPECT_TRUE(dashboard.style.opens_with_text);
  EXPECT_EQ(dashboard.style.verdict_column, "Verdict");
  EXPECT_EQ(dashboard.style.judged_columns, std::vector<std::string>{"Less by (%)"});
  EXPECT_TRUE(dashboard.style.color_scales.empty());
  ASSERT_TRUE(dashboard.style.chart);
  EXPECT_EQ(dashboard.style.chart->title, "A step takes 57.0 ms with b and 60.0 ms with a");
  EXPECT_EQ(dashboard.style.chart->columns, (std::vector<std::string>{"a (ms)", "b (ms)"}));
  EXPECT_EQ(dashboard.style.chart->rows, (std::vector<std::size_t>{2, 3}));
  for (const model::Table& table : report.tables) {
    EXPECT_LE(table.name.size(), 31U);
    const bool raw = table.name.find("_Raw") != std::string::npos;
    EXPECT_EQ(table.style.visibility == model::Visibility::kHidden, raw) << table.name;
  }
}

// Every column of figures needs a unit in its heading, since people read this sheet first.
TEST(Compare, TheDashboardsHeadingsHaveUnits) {
  const Configuration a = configuration("a", {60.0, 60.1, 59.9});
  const Configuration b = configuration("b", {57.0, 57.1, 56.9});
  const Comparison comparison = compare({a, b}).value();
  const model::Table& dashboard = comparison.final_report.tables[0];
  for (std::size_t column = 0; column < dashboard.columns.size(); ++column) {
    const std::string& name = dashboard.columns[column].name;
    if (std::holds_alternative<double>(dashboard.at(0, column))) {
      EXPECT_THAT(name, AnyOf(HasSubstr("(ms)"), HasSubstr("(%)")));
    } else if (std::holds_alternative<std::int64_t>(dashboard.at(0, column))) {
      EXPECT_THAT(name, HasSubstr("steps"));
    }
  }
}

TEST(Compare, TheTerminalShowsTheAnswerFirstAndIntervals) {
  const Configuration a = configuration("a", {60.0, 60.1, 59.9});
  const Configuration b = configuration("b", {57.0, 57.1, 56.9});
  const Sides sides{a, b};
  const Comparison comparison = compare(sides).value();
  const model::Table summary =
      terminal_summary(comparison.final_report.tables[0], comparison.answer, sides);
  EXPECT_THAT(summary.title, StartsWith("b is 5 % faster than a in these runs"));
  std::vector<std::string> headings;
  for (const model::Column& column : summary.columns)
    headings.push_back(column.name);
  EXPECT_THAT(headings, ElementsAre("time per steady step", "a (ms)", "b (ms)", "less by (%)",
                                    "low (%)", "high (%)", "verdict"));
  EXPECT_EQ(text(summary.at(0, 6)), "Different in these runs");
  EXPECT_GT(model::number(summary.at(0, 4)), 4.5);
  EXPECT_LT(model::number(summary.at(0, 5)), 5.5);
}

// A headline of -21 % that may be noise must not read as if there were no difference.
TEST(Compare, ALargeDifferenceInTheNoiseIsUnclearAndSaysWhatItTakes) {
  const Configuration a = configuration("a", {60, 62, 61});
  const Configuration b = configuration("b", {60, 82, 71});
  const Answer result = answer({a, b});
  EXPECT_EQ(result.headline.verdict, Verdict::kUnclear);
  EXPECT_FALSE(result.regression);
  const std::string words = all_words(result);
  EXPECT_THAT(words, HasSubstr("Unclear whether b is faster or slower than a (95 %: "));
  EXPECT_THAT(words, HasSubstr("What next? Measure more. About 12 steps of each would tell a "
                               "difference of 16.4 % apart."));
  EXPECT_THAT(words, Not(HasSubstr("Similar")));
  EXPECT_THAT(words, Not(HasSubstr("similar")));
}

TEST(Compare, NothingIsMoreThan100PercentFaster) {
  const Configuration a = configuration("a", {60, 160});
  const Configuration b = configuration("b", {50, 150});
  const std::string words = all_words(answer({a, b}));
  EXPECT_THAT(words, HasSubstr("Unclear whether b is faster or slower than a (95 %: at most "));
  EXPECT_THAT(words, Not(HasSubstr("% faster;")));
}

TEST(Compare, EqualRunsAreTheSameOrUnclearByTheirSpread) {
  const Configuration a = configuration("a", {60, 61, 62});
  Configuration b = a;
  b.label = "b";
  const CompareOptions wide{.criterion = {.tolerance_percent = 20}};
  EXPECT_THAT(all_words(answer({a, b, wide})),
              HasSubstr("b takes the same time as a within 20 % in these runs"));
  const Comparison comparison = compare({a, b}).value();
  EXPECT_FALSE(comparison.answer.regression);
  const std::string words = all_words(comparison.answer);
  EXPECT_THAT(words, HasSubstr("Unclear whether b is faster or slower"));
  EXPECT_THAT(words, HasSubstr("b is as fast as a: 61.000 against 61.000 ms a step"));
  EXPECT_THAT(words, HasSubstr("(no change, "));
  EXPECT_THAT(words, Not(HasSubstr(" 0 % ")));
  const model::Table& dashboard = comparison.final_report.tables[0];
  EXPECT_EQ(text(cell_where(dashboard, "Metric", "GPU_total_time", "Verdict")), "Unclear");
  EXPECT_EQ(text(cell_where(dashboard, "Metric", "GPU_computation_time", "Verdict")),
            "Same in these runs");
  for (const model::Book* book : {&comparison.timeline_comparison,
                                  &comparison.collective_comparison, &comparison.final_report})
    expect_no_nan(*book);
}

TEST(Compare, WithoutStepsNothingIsClaimed) {
  Configuration a = configuration("a", {60, 61, 62});
  const Configuration b = configuration("b", {90, 91, 92});
  testing::drop_steps(a);
  const Comparison comparison = compare({a, b}).value();
  EXPECT_FALSE(comparison.answer.regression);
  EXPECT_THAT(all_words(comparison.answer), HasSubstr("whether that is real is unknown"));
  expect_no_nan(comparison.final_report);
}

TEST(Compare, OneSideWithoutATimeline) {
  const Configuration a = configuration("a", {60, 61});
  Configuration b = configuration("b", {60, 61});
  b.ranks.clear();
  const Comparison comparison = compare({a, b}).value();
  EXPECT_THAT(all_words(comparison.answer), HasSubstr("Only a has a total_time"));
  EXPECT_THAT(all_words(comparison.answer), HasSubstr("numbers of ranks differ"));
  expect_no_nan(comparison.final_report);
}

TEST(Compare, DifferentRanksAreToldWithTheAnswer) {
  const Configuration a = configuration("a", {60, 61, 62});
  Configuration b = configuration("b", {90, 91, 92});
  EXPECT_THAT(compare({a, b}).value().answer.lines[0].answer,
              ::testing::Not(HasSubstr("different ranks")));
  for (RankReport& rank : b.ranks)
    rank.rank += 7;
  const Answer other_ranks = compare({a, b}).value().answer;
  EXPECT_THAT(
      other_ranks.lines[0].answer,
      HasSubstr("But it compares different ranks: ranks 0, 1 only of a; ranks 7, 8 only of b."));
  EXPECT_THAT(all_words(other_ranks), HasSubstr("Profile the same ranks of both"));
}

TEST(Compare, AnOnlyStepWithoutItsWaitIsToldWithTheAnswer) {
  const Configuration a = configuration("a", {60, 61});
  const Configuration b = configuration("b", {55});
  EXPECT_THAT(compare({a, b}).value().answer.lines[0].answer,
              HasSubstr("But the only step of b lacks its wait for a next one, which the steps of "
                        "a have."));
  EXPECT_THAT(compare({b, configuration("c", {56})}).value().answer.lines[0].answer,
              ::testing::Not(HasSubstr("lacks its wait")));
}

TEST(Compare, TheWholeWindowIsComparedToo) {
  const Configuration a = configuration("a", {60, 61});
  Configuration b = configuration("b", {60, 61});
  for (RankReport& report : b.ranks) {
    model::Table& whole = report.book.tables[0];
    whole.at(3, *whole.column("time ms")) = 137.5;
  }
  EXPECT_THAT(all_words(answer({a, b})),
              HasSubstr("b is 13.6 % slower than a: 137.500 against 121.000 ms"));
}

TEST(Compare, WindowsOfDifferentStepsAreNotHeldTogetherInSilence) {
  const Configuration a = configuration("a", {60, 61, 62, 63});
  const Configuration b = configuration("b", {60, 61, 62});
  EXPECT_THAT(
      all_words(compare({a, b}).value().answer),
      HasSubstr("And over the whole profiled window? 3 steps of b count and 4 of a: windows "
                "of different steps are not compared (183.000 and 246.000 ms).\n"));
  const Configuration c = configuration("c", {60, 61, 62, 63});
  EXPECT_THAT(all_words(compare({a, c}).value().answer),
              ::testing::Not(HasSubstr("of different steps")));
}

TEST(Compare, PartsThatDoNotChangeAreNotTold) {
  const Configuration a = configuration("a", {60, 61, 62});
  const auto why = [&a](const Configuration& b) {
    for (const AnswerLine& line : compare({a, b}).value().answer.lines)
      if (line.question == kWhyQuestion) return line.answer;
    return std::string();
  };
  EXPECT_EQ(why(configuration("b", {60, 61, 62})),
            "From no part: each changes by less than 0.0005 ms.");
  EXPECT_EQ(why(configuration("b", {50, 51, 52})),
            "exposed_comm_time -10.000 ms (different in these runs).");
}

TEST(Compare, LeftOutWorkIsNamed) {
  Configuration a = configuration("a", {60, 61});
  a.left_out = LeftOut{.leaked_kernels = 1234, .leaked_ms = 56.78};
  const Configuration b = configuration("b", {60, 61});
  EXPECT_THAT(all_words(answer({a, b})), HasSubstr("a: 1234 kernels (56.8 ms over all ranks)"));
}

TEST(Compare, RefusesSidesThatCannotBeToldApart) {
  const Configuration a = configuration("run", {60, 61});
  const auto error = [&a](const Configuration& other) {
    const auto result = compare({a, other});
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_THAT(error(configuration("RUN", {60, 61})), HasSubstr("both configurations are called"));
  EXPECT_THAT(error(configuration("", {60, 61})), HasSubstr("label is empty"));
  EXPECT_THAT(error(configuration("diff", {60, 61})), HasSubstr("name of a comparison column"));
  Configuration twice = configuration("b", {60, 61});
  twice.ranks.push_back(twice.ranks[1]);
  EXPECT_THAT(error(twice), HasSubstr("'b' has two reports of rank 1"));
  EXPECT_THAT(error({.label = "b", .ranks = {}, .collectives = {}}),
              HasSubstr("'b' has no timeline"));
}

}  // namespace
}  // namespace assay::trace
