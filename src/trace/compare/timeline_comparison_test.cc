#include "trace/compare/timeline_comparison.h"

#include <gtest/gtest.h>

#include "trace/compare/compare_test_util.h"
#include "trace/compare/timeline_summary.h"

namespace assay::trace {
namespace {

using model::Cell;
using model::number;
using model::text;
using testing::cell_where;
using testing::drop_steps;
using testing::rank_report;

// Two ranks; rank 1 always takes 2 ms longer than rank 0.
Configuration two_ranks(const std::string& label, const std::vector<double>& total_ms) {
  std::vector<double> slower;
  for (const double time : total_ms)
    slower.push_back(time + 2);
  return {.label = label,
          .ranks = {rank_report(0, {{"busy_time", total_ms}, {"total_time", total_ms}}),
                    rank_report(1, {{"busy_time", slower}, {"total_time", slower}})},
          .collectives = {}};
}

TEST(TimelineSummary, StepsAndRanks) {
  const Configuration run = two_ranks("run", {10, 12, 14});
  const model::Book book = timeline_summary(run.ranks, Compat::kNone);
  const model::Table& summary = *book.find("Summary");
  EXPECT_DOUBLE_EQ(number(cell_where(summary, "type", "total_time", "time ms")), 39);
  EXPECT_DOUBLE_EQ(number(cell_where(summary, "type", "total_time", "step_mean_ms")), 13);
  EXPECT_DOUBLE_EQ(number(cell_where(summary, "type", "total_time", "step_max_ms")), 16);
  EXPECT_EQ(cell_where(summary, "type", "total_time", "n"), Cell{std::int64_t{6}});
  const model::Table& steps = *book.find("Per_Step");
  ASSERT_EQ(steps.row_count(), 6U);
  EXPECT_EQ(steps.at(0, 0), Cell{std::int64_t{3}});
  EXPECT_DOUBLE_EQ(number(steps.at(0, *steps.column("mean_ms"))), 11);
  EXPECT_EQ(steps.at(0, *steps.column("num_ranks")), Cell{std::int64_t{2}});
}

TEST(TimelineSummary, CompatibleSheetsKnowNoSteps) {
  const Configuration run = two_ranks("run", {10, 12, 14});
  const model::Book book = timeline_summary(run.ranks, Compat::kTraceLens);
  EXPECT_EQ(book.find("Per_Step"), nullptr);
  EXPECT_EQ(book.find("Summary")->columns.size(), 4U);
  EXPECT_EQ(book.find("Per_Rank_Time_ms")->columns[2].name, "1");
}

TEST(TimelineSummary, ATypeThatOneRankLacksIsEmptyThere) {
  const std::vector<RankReport> ranks = {
      rank_report(0, {{"total_time", {10}}}),
      rank_report(4, {{"total_time", {12}}, {"idle_time", {1}}})};
  const model::Table per_rank = *timeline_summary(ranks, Compat::kNone).find("Per_Rank_Time_ms");
  EXPECT_EQ(cell_where(per_rank, "type", "idle_time", "0"), Cell{});
  EXPECT_DOUBLE_EQ(number(cell_where(per_rank, "type", "idle_time", "4")), 1);
}

// The constant 2 ms between the ranks must not count as noise, because the repetition is the step.
TEST(TimelineComparison, StepsAreTheRepetitions) {
  const Configuration baseline = two_ranks("a", {10.0, 10.1, 9.9});
  const Configuration test = two_ranks("b", {9.0, 9.1, 8.9});
  const model::Book book = timeline_comparison({baseline, test});
  const model::Table& summary = *book.find("Summary_Comparison");
  const auto total = [&summary](const char* column) {
    return cell_where(summary, "type", "total_time", column);
  };
  EXPECT_DOUBLE_EQ(number(total("a_time_ms")), 11);
  EXPECT_DOUBLE_EQ(number(total("b_time_ms")), 10);
  EXPECT_NEAR(number(total("percent_change")), 100.0 / 11, 1e-9);
  EXPECT_EQ(text(total("status")), "Different in these runs");
  EXPECT_EQ(total("a_steps"), Cell{std::int64_t{3}});
  EXPECT_GT(number(total("ci_low_percent")), 0);
  EXPECT_EQ(text(cell_where(summary, "type", "busy_time", "status")), "Different in these runs");
  EXPECT_EQ(book.find("Comparison_By_Rank")->row_count(), 6U);
  EXPECT_EQ(text(summary.at(0, 0)), "total_time");
}

TEST(TimelineComparison, DifferentNumbersOfStepsCompareStepByStep) {
  const Configuration baseline = two_ranks("a", {10.0, 10.1});
  const Configuration test = two_ranks("b", {10.0, 10.1, 9.95, 10.05, 10.0});
  const model::Book book = timeline_comparison({baseline, test});
  const model::Table& summary = *book.find("Summary_Comparison");
  EXPECT_EQ(text(cell_where(summary, "type", "total_time", "status")), "Unclear");
  EXPECT_EQ(summary.style.verdict_column, "status");
  EXPECT_EQ(summary.style.judged_columns, std::vector<std::string>{"percent_change"});
  EXPECT_TRUE(summary.style.color_scales.empty());
  EXPECT_EQ(cell_where(summary, "type", "total_time", "b_steps"), Cell{std::int64_t{5}});
}

TEST(TimelineComparison, OneStepOrNoneIsUnknown) {
  const Configuration baseline = two_ranks("a", {10});
  Configuration test = two_ranks("b", {20, 21});
  const auto status = [&]() {
    const model::Book book = timeline_comparison({baseline, test});
    return text(cell_where(*book.find("Summary_Comparison"), "type", "total_time", "status"));
  };
  EXPECT_EQ(status(), "Unknown: 1 step");
  drop_steps(test);
  EXPECT_EQ(status(), "Unknown: no steps");
}

TEST(TimelineComparison, MissingRanksAndTypesAreShown) {
  Configuration baseline = two_ranks("a", {10, 11});
  const Configuration test = {
      .label = "b",
      .ranks = {rank_report(1, {{"total_time", {10, 11}}, {"idle_time", {0, 0}}}),
                rank_report(2, {{"total_time", {10, 11}}})},
      .collectives = {}};
  const model::Book book = timeline_comparison({baseline, test});
  const model::Table& by_rank = *book.find("Comparison_By_Rank");
  EXPECT_EQ(text(cell_where(by_rank, "rank", "0", "status")), "Only in baseline");
  EXPECT_EQ(text(cell_where(by_rank, "rank", "2", "status")), "Only in test");
  EXPECT_EQ(cell_where(by_rank, "rank", "2", "diff_time_ms"), Cell{});
  const model::Table& summary = *book.find("Summary_Comparison");
  EXPECT_EQ(text(cell_where(summary, "type", "idle_time", "status")), "Only in test");

  const model::Book compatible =
      timeline_comparison({baseline, test, {.compat = Compat::kTraceLens}});
  EXPECT_EQ(compatible.find("Comparison_By_Rank")->row_count(), 1U);
}

TEST(TimelineComparison, CompatibleThresholdsAndZeroBaseline) {
  const auto one_rank = [](const std::string& label, double total, double idle) {
    return Configuration{
        .label = label,
        .ranks = {rank_report(0, {{"total_time", {total}}, {"idle_time", {idle}}})},
        .collectives = {}};
  };
  const auto status = [&](double test_ms) {
    const Configuration baseline = one_rank("a", 100, 0);
    const Configuration test = one_rank("b", test_ms, 1);
    const model::Book book = timeline_comparison({baseline, test, {.compat = Compat::kTraceLens}});
    const model::Table& by_rank = *book.find("Comparison_By_Rank");
    EXPECT_EQ(number(cell_where(by_rank, "type", "idle_time", "percent_change")), 0);
    return text(cell_where(by_rank, "type", "total_time", "status"));
  };
  EXPECT_EQ(status(98.9), "Better");
  EXPECT_EQ(status(99.5), "Similar");
  EXPECT_EQ(status(100.5), "Similar");
  EXPECT_EQ(status(101.5), "Worse");
}

}  // namespace
}  // namespace assay::trace
