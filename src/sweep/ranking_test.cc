#include "sweep/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay::sweep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

SettingResult reference() {
  return {.setting = "default",
          .runs = 3,
          .steps = 18,
          .repetitions = 3,
          .repetition = "run",
          .step_ms = 10,
          .change_percent = kNaN,
          .change_percent_low = kNaN,
          .change_percent_high = kNaN};
}

SettingResult result(const std::string& name, double change, double half, const char* verdict) {
  return {.setting = name,
          .variables = "NCCL_MAX_CTAS=" + name,
          .runs = 3,
          .steps = 18,
          .repetitions = 3,
          .repetition = "run",
          .step_ms = 10 - change / 10,
          .change_percent = change,
          .change_percent_low = change - half,
          .change_percent_high = change + half,
          .verdict = verdict,
          .comparison = "comparison_" + name};
}

Ranking ranking(std::vector<SettingResult> others) {
  others.insert(others.begin(), reference());
  return {std::move(others), {}};
}

TEST(Ranking, TheFastestFirstWithTheReferenceInItsPlace) {
  SettingResult unknown = result("unknown", 0, 0, "Unknown: 1 run");
  unknown.step_ms = kNaN;
  const model::Table table =
      ranking({result("slow", -20, 1, "Worse"), unknown, result("fast", 20, 1, "Better")})
          .table("runs");
  ASSERT_EQ(table.row_count(), 4U);
  const char* order[] = {"fast", "default", "slow", "unknown"};
  for (std::size_t row = 0; row < 4; ++row)
    EXPECT_EQ(model::text(table.at(row, 0)), order[row]);
  EXPECT_EQ(model::text(table.at(1, 8)), "reference");
  EXPECT_EQ(model::text(table.at(3, 3)), "");
  EXPECT_EQ(table.style.verdict_column, "verdict");
}

TEST(Ranking, ASettingThatIsNotComparedLeavesTheChoiceOpen) {
  const Ranking open =
      ranking({result("slow", -20, 1, "Worse"),
               result("apart", 5, kNaN, "Unknown: fewer than two repeats shared")});
  EXPECT_THAT(open.answer(), HasSubstr("no other setting that is compared is faster"));
  EXPECT_THAT(open.next("sweep"), HasSubstr("measure more runs"));
}

TEST(Ranking, ASettingThatDoesOtherWorkIsNotRecommended) {
  const Ranking ranks({reference(), result("fast", 20, 1, "Better")}, {},
                      {.others = {"fast does other work than default"}, .other_work = {"fast"}});
  EXPECT_EQ(ranks.answer(),
            "fast is 20 % faster than default (95 %: 19 to 21 % faster; 3 runs). fast does other "
            "work than default.");
  EXPECT_EQ(ranks.next(""),
            "Next: find out whether fast does the work of default in another way. comparison_fast "
            "says where the time is saved.");
}

TEST(Ranking, ASettingOfOtherRanksIsNotRecommended) {
  const Ranking ranks({reference(), result("fast", 20, 1, "Better")}, {},
                      {.others = {"fast is of other ranks"}, .other_ranks = {"fast"}});
  EXPECT_THAT(ranks.answer(), testing::StartsWith("fast is 20 % faster"));
  EXPECT_THAT(ranks.next(""), HasSubstr("profile the same ranks of fast and default"));
}

TEST(Ranking, OtherRanksAreNothingToKeepTheReferenceFor) {
  const Ranking ranks({reference(), result("same", 0, 0.5, "Same")}, {},
                      {.others = {"same is of other ranks"}, .other_ranks = {"same"}});
  EXPECT_THAT(ranks.next(""), HasSubstr("profile the same ranks of same and default"));
}

TEST(Ranking, OneThatDoesTheSameWorkIsUsedBeforeAFasterOneThatDoesNot) {
  const Ranking ranks(
      {reference(), result("fast", 20, 1, "Better"), result("sound", 10, 1, "Better")}, {},
      {.others = {"fast does other work than default"}, .other_work = {"fast"}});
  EXPECT_EQ(ranks.best(), "sound");
  EXPECT_THAT(ranks.answer(), testing::StartsWith("Use sound: it is 10 % faster"));
  EXPECT_THAT(ranks.next(""), HasSubstr("use sound"));
}

// A setting whose steady steps and all steps have these changes.
SettingResult slow_steps(const std::string& name,
                         double steady,
                         const char* verdict,
                         double all,
                         const char* mean_verdict) {
  SettingResult slow = result(name, steady, 0.2, verdict);
  slow.mean_change_percent = all;
  slow.mean_verdict = mean_verdict;
  return slow;
}

TEST(Ranking, SlowStepsOfEveryRunAreTold) {
  constexpr const char* kTold =
      "spikes takes the same time within 1 % in its steady steps (95 %: 0.1 % slower to 0.3 % "
      "faster; "
      "3 runs), but over all profiled steps it is 16.6 % slower, beyond the noise between runs.";
  const Ranking ranks = ranking({slow_steps("spikes", 0.1, "Same", -16.6, "Worse")});
  EXPECT_THAT(ranks.answer(),
              StartsWith("Keep default: the other setting is not faster over all its steps."));
  EXPECT_THAT(ranks.answer(), HasSubstr(kTold));
  EXPECT_TRUE(ranks.finds_regression());
  EXPECT_THAT(ranking({slow_steps("spikes", 0.1, "Same", -16.6, "Unclear")}).answer(),
              Not(HasSubstr("over all profiled steps")));
}

TEST(Ranking, ASettingThatIsSlowerOverAllStepsIsNotRecommended) {
  const SettingResult spikes = slow_steps("spikes", 3, "Better", -5, "Worse");
  const Ranking alone = ranking({spikes});
  EXPECT_EQ(alone.answer(),
            "Keep default: the other setting is not faster over all its steps. spikes is 3 % "
            "faster than default in its steady steps (95 %: 2.8 to 3.2 % faster; 3 runs), but over "
            "all profiled steps it is 5 % slower, beyond the noise between runs.");
  EXPECT_EQ(alone.next("runs"),
            "Next: stay with default, and find out what the steps of spikes do that are not steady "
            "(sheet Steps of comparison_spikes): they come back in its runs, so they belong to "
            "it.");
  EXPECT_EQ(alone.figure().title,
            "spikes is 3 % faster in its steady steps, but 5 % slower over all");
  EXPECT_EQ(alone.figure().items.front().verdict, model::Verdict::kUnclear);
  EXPECT_EQ(alone.figure().items.front().texts.back(),
            "Unclear: steady steps Better, all steps Worse");
  const model::Table table = alone.table("runs");
  EXPECT_EQ(model::text(table.at(0, *table.column("verdict"))),
            "Unclear: steady steps Better, all steps Worse");
  EXPECT_EQ(alone.doubts().size(), 1U);
  const Ranking with_better = ranking({spikes, slow_steps("c", 1.7, "Better", 1.7, "Better")});
  EXPECT_THAT(with_better.answer(), StartsWith("Use c: it is 1.7 % faster than default"));
}

TEST(Ranking, SlowStepsOfTheReferenceLeaveTheChoiceOpen) {
  const Ranking ranks = ranking({slow_steps("b", 0.3, "Same", 7.95, "Better")});
  EXPECT_THAT(ranks.answer(), StartsWith("The steady steps do not decide. b takes the same time"));
  EXPECT_EQ(ranks.next("runs"),
            "Next: find out what the steps of default do that are not steady (sheet Steps of "
            "comparison_b): they come back in its runs, so they belong to it.");
}

TEST(Ranking, AsMuchSlowerIsNoRange) {
  EXPECT_THAT(ranking({result("b", -11.61, 1, "Worse"), result("c", -11.62, 1, "Worse")}).answer(),
              ::testing::HasSubstr("2 settings are slower by 11.6 %."));
}

TEST(Ranking, WhatIsUnclearIsSaidInTheDirectionOfItsEstimate) {
  EXPECT_THAT(ranking({result("b", -0.5, 2, "Unclear")}).answer(),
              StartsWith("Unclear whether b is slower than default"));
  EXPECT_THAT(ranking({result("b", 0.5, 2, "Unclear")}).answer(),
              StartsWith("Unclear whether b is faster than default"));
}

TEST(Ranking, FailedRunsAreToldWithTheAnswer) {
  RunDoubts doubts{.planned = 4, .failed = {{"b", "2 of 4 runs of b failed (exit code 7)"}}};
  doubts.without_good_run = {"c"};
  const Ranking ranks({reference(), result("b", 5, 1, "Better")}, {}, doubts);
  EXPECT_THAT(ranks.answer(), HasSubstr(" 2 of 4 runs of b failed (exit code 7)."));
  EXPECT_THAT(ranks.next("runs"),
              StartsWith("Next: find out why runs of b failed (run_output.log in their folders), "
                         "then run with NCCL_MAX_CTAS=b."));
  const model::Table table = ranks.table("runs");
  ASSERT_EQ(table.row_count(), 3U);
  EXPECT_EQ(model::text(table.at(2, 0)), "c");
  EXPECT_EQ(model::text(table.at(2, *table.column("verdict"))), "No good run");
  EXPECT_EQ(model::number(table.at(0, *table.column("planned runs"))), 4);
}

constexpr const char* kNotPassed = "NCCL_ALGO reached no process that loaded NCCL";

TEST(Ranking, ASettingThatWasNotAppliedHasNoVerdict) {
  RunDoubts doubts{.missing = {{"b", kNotPassed}}};
  const Ranking ranks({reference(), result("b", 5, 1, "Better")}, {}, doubts);
  EXPECT_THAT(ranks.answer(), Not(HasSubstr("Use b")));
  EXPECT_THAT(ranks.answer(), HasSubstr("NCCL_ALGO reached no process that loaded NCCL in runs of "
                                        "b: the setting was not applied."));
  doubts.missing["default"] = kNotPassed;
  const Ranking none({reference(), result("b", 5, 1, "Better")}, {}, doubts);
  EXPECT_EQ(none.answer(),
            "No verdict: NCCL_ALGO reached no process that loaded NCCL in runs of b, default: the "
            "setting was not applied.");
  EXPECT_FALSE(none.has_reference());
}

TEST(Ranking, SettingsThatWereNotAppliedAreNotSaidToBeNoFaster) {
  const RunDoubts doubts{.missing = {{"b", kNotPassed}}};
  const Ranking alone({reference(), result("b", 5, 1, "Better")}, {}, doubts);
  EXPECT_THAT(alone.next("runs"), HasSubstr("see that the variables reach the ranks"));
  EXPECT_THAT(alone.figure().title, HasSubstr("Unknown whether"));
  const Ranking beside({reference(), result("b", 5, 1, "Better"), result("c", 0, 0.5, "Same")}, {},
                       doubts);
  EXPECT_THAT(beside.answer(), StartsWith("Keep default: no other setting that was applied is "));
  EXPECT_THAT(beside.next("runs"), HasSubstr("see that the variables reach the ranks"));
}

TEST(Ranking, WithoutTheReferenceAppliedOthersHaveNoVerdict) {
  const Ranking without({reference(), result("b", 5, 1, "Better")}, {},
                        {.missing = {{"default", kNotPassed}}});
  const model::Table table = without.table("runs");
  EXPECT_EQ(model::text(table.at(0, 8)), "No verdict");
  EXPECT_EQ(model::text(table.at(1, 8)), "Not applied");
}

TEST(Ranking, ChangesWithoutATrendOrderTheSettings) {
  SettingResult late = result("late", 5, 1, "Better");
  late.step_ms = 11;  // as measured, of runs that were made when the machine was slow
  EXPECT_THAT(ranking({result("early", 2, 1, "Better"), late}).answer(), StartsWith("Use late"));
}

TEST(Ranking, AnIntervalOnOneSideOfZeroTellsItsDirection) {
  EXPECT_THAT(ranking({result("b", -0.271, 0.108, "Same")}).answer(),
              HasSubstr("(95 %: 0.163 to 0.379 % slower; 3 runs)"));
}

TEST(Ranking, TheSameOfOneRunIsOfTheseRuns) {
  SettingResult a = reference();
  SettingResult b = result("b", 0.2, 0.1, "Same in these runs");
  a.runs = b.runs = 1;
  a.repetition = b.repetition = "step";
  EXPECT_THAT(Ranking({a, b}, {}).answer(),
              HasSubstr("b takes the same time within 1 % in these runs (95 %: 0.1 to 0.3 % "
                        "faster;"));
}

TEST(Ranking, SettingsOfAlikeNamesShowTheirVariables) {
  SettingResult numbered = result("default_2", 5, 1, "Better");
  numbered.variables = "X=A";
  SettingResult first = reference();
  first.variables = "X=a";
  EXPECT_EQ(Ranking({first, numbered}, {}).table("runs").notes.back(),
            "default has X=a, default_2 has X=A.");
  EXPECT_THAT(ranking({result("b", 5, 1, "Better")}).table("runs").notes.back(),
              Not(HasSubstr("NCCL_MAX_CTAS")));
}

TEST(Ranking, AddingRunsUntilADifferenceShowsIsWarnedOf) {
  EXPECT_THAT(ranking({result("16", 1, 3, "Unclear")}).next("runs"),
              HasSubstr("Choose their number now"));
}

TEST(Ranking, TheFastestBetterSettingIsToBeUsed) {
  const Ranking ranks = ranking({result("16", 2.6, 0.7, "Better"), result("32", 5, 1, "Better"),
                                 result("8", -3, 1, "Worse")});
  EXPECT_EQ(
      ranks.answer(),
      "Use 32: it is 5 % faster than default (95 % over all comparisons: 4 to 6 % faster; 3 runs). "
      "1 more setting is "
      "faster than default, too. 1 setting is slower by 3 %.");
  EXPECT_EQ(ranks.next("runs"),
            "Next: run with NCCL_MAX_CTAS=32. comparison_32 says where the time is saved.");
  EXPECT_EQ(ranks.figure().title, "32 is 5 % faster than default");
}

TEST(Ranking, NothingBetterMeansKeepingTheReference) {
  const Ranking ranks =
      ranking({result("32", 0.18, 0.74, "Same"), result("16", -2.59, 0.7, "Worse"),
               result("4", -93.5, 1, "Worse")});
  EXPECT_EQ(ranks.answer(),
            "Keep default: no other setting is faster. 32 takes the same time within 1 % (95 % "
            "over all comparisons: "
            "0.56 % slower to 0.92 % faster; 3 runs). 2 settings are slower by 2.59 to 93.5 %.");
  EXPECT_EQ(ranks.next("runs"),
            "Next: nothing to change. comparison_4 says where 4 loses its time.");
  EXPECT_EQ(ranks.figure().title,
            "No setting is faster than default; 2 are slower by 2.59 to 93.5 %");
}

TEST(Ranking, AnUnclearSettingIsNeverCalledEqual) {
  SettingResult wide = result("16", -21, 24, "Unclear");
  wide.needed = "About 9 runs of each would tell a difference of 21 % apart";
  const Ranking ranks = ranking({wide, result("8", -30, 2, "Worse")});
  EXPECT_EQ(ranks.answer(),
            "Unclear whether 16 is slower than default (95 % over all comparisons: 45 % slower to "
            "3 % faster; 3 runs). "
            "About 9 runs of each would tell a difference of 21 % apart. 1 setting is slower by "
            "30 %.");
  EXPECT_THAT(ranks.next("runs"), HasSubstr("assay sweep run --resume --repeat N -o runs"));
  EXPECT_EQ(ranks.figure().items.at(1).verdict, model::Verdict::kUnclear);
}

TEST(Ranking, NoSettingTakesMoreThanAllTimeLess) {
  EXPECT_THAT(ranking({result("16", 4, 238, "Unclear")}).answer(),
              HasSubstr("(95 %: at most 234 % slower; 3 runs)"));
  EXPECT_THAT(ranking({result("16", 60, 57, "Better")}).answer(),
              HasSubstr("(95 %: at least 3 % faster; 3 runs)"));
}

TEST(Ranking, StepsOfOneRunSpeakOnlyOfTheseRuns) {
  std::vector<SettingResult> once = {reference(), result("32", 5, 1, "Different in these runs"),
                                     result("4", -9, 1, "Different in these runs")};
  for (SettingResult& setting : once) {
    setting.runs = 1;
    setting.repetitions = 16;  // two of the steps are not steady
    setting.repetition = "step";
  }
  const Ranking ranks(once, {});
  EXPECT_EQ(ranks.answer(),
            "Use 32: it is 5 % faster than default in these runs (95 % over all "
            "comparisons: 4 to 6 % faster; 16 steps). 1 setting is slower by 9 %.");
  EXPECT_THAT(ranks.figure().subtitle, HasSubstr("Dot: mean of 16 steps;"));
  EXPECT_THAT(ranks.next("runs"),
              HasSubstr("assay sweep run --repeat 3, with -o of another folder"));
  once.front().repetitions = 12;
  EXPECT_THAT(Ranking(once, {}).figure().subtitle, HasSubstr("Dot: mean of 12 to 16 steps;"));
  once.back().runs = 2;  // of another the second run failed
  EXPECT_THAT(Ranking(once, {}).next("runs"),
              HasSubstr("assay sweep run --resume --repeat N -o runs"));
}

TEST(Ranking, ASettingThatWasRunOnceSpeaksOnlyOfItsRun) {
  SettingResult once = result("8", 9, 1, "Different in these runs");
  once.runs = once.repetitions = 1;
  const SettingResult thrice = result("32", 5, 1, "Better");
  const Ranking alone = ranking({once});
  EXPECT_EQ(alone.answer(),
            "Use 8: it is 9 % faster than default in these runs (95 %: 8 to 10 % faster; 1 run "
            "against 3).");
  EXPECT_THAT(alone.next("runs"), HasSubstr("One run a setting cannot tell the noise"));
  const Ranking both = ranking({once, thrice});
  EXPECT_THAT(both.answer(), StartsWith("Use 32: it is 5 % faster than default (95 % over all "
                                        "comparisons: 4 to 6 % faster; 3 runs)."));
  EXPECT_THAT(both.table("runs").notes.at(1),
              HasSubstr("it counts runs, and a setting that was run once is taken to have the "
                        "noise of the other."));
  EXPECT_THAT(both.figure().subtitle, HasSubstr("Dot: mean of 1 to 3 runs;"));
}

TEST(Ranking, AReferenceThatWasRunOnceSpeaksOnlyOfItsRun) {
  SettingResult once = reference();
  once.runs = once.repetitions = 1;
  SettingResult other_once = result("16", -2, 1, "Different in these runs");
  other_once.runs = 1;
  other_once.repetitions = 6;
  other_once.repetition = "step";
  const Ranking ranks({once, result("8", 9, 1, "Different in these runs"), other_once}, {});
  EXPECT_THAT(ranks.answer(),
              StartsWith("Use 8: it is 9 % faster than default in these runs (95 % "
                         "over all comparisons: 8 to 10 % faster; 3 runs against 1)."));
  EXPECT_THAT(ranks.table("runs").notes.at(1),
              HasSubstr("noise of the other; of two that were run once, steps."));
  EXPECT_THAT(ranks.figure().subtitle, HasSubstr("Dot: mean of 1 to 3 runs, or 6 steps;"));
}

TEST(Ranking, TransientsAndTheMeanAreShownBesideTheSteadyStep) {
  SettingResult fast = result("32", 5, 1, "Better");
  fast.mean_ms = 9.75;
  fast.transients = "1 of 18 steps of 32 is not steady.";
  const model::Table table = ranking({fast}).table("runs");
  EXPECT_EQ(model::number(table.at(0, *table.column("mean (ms)"))), 9.75);
  EXPECT_EQ(table.notes.back(), fast.transients);
}

TEST(Ranking, TheFigureHasADotForEachSettingAndTheReferenceAtZero) {
  const report::RankingFigure figure =
      ranking({result("16", -2.59, 0.7, "Worse"), result("4", -93.5, 1, "Worse")}).figure();
  ASSERT_EQ(figure.items.size(), 3U);
  EXPECT_EQ(figure.items[0].value, 0);
  EXPECT_TRUE(std::isnan(figure.items[0].low));
  EXPECT_DOUBLE_EQ(figure.items[2].low, -94.5);
  EXPECT_EQ(figure.items[2].texts.at(1), "-93.5 (-94.5 to -92.5)");
  EXPECT_EQ(figure.tolerance, 1);
}

}  // namespace
}  // namespace assay::sweep
