#include "trace/compare/step_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trace/compare/compare.h"
#include "trace/compare/compare_test_util.h"
#include "trace/compare/step_words.h"
#include "trace/compare/timeline_samples.h"
#include "trace/pipelines/configuration_reader.h"
#include "trace/sheet.h"
#include "trace/sheets/steps_table.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using model::number;
using model::text;
using testing::all_words;
using testing::cell_where;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Side = testing::SmallTrace::Side;

// A step in hundreds of microseconds: its work, and how long the host waits before it launches the
// second half of it.
struct Made {
  int work = 0;
  int host = 0;
};

// A rank whose step launches one kernel, then another one when the host gets to it. A collective
// ends each step, and a short kernel ends the trace's last one like all others.
model::Trace rank_trace(const std::vector<Made>& steps) {
  testing::SmallTrace small;
  int time = 0;
  int number = 3;
  for (const Made& step : steps) {
    const int half = 100 * step.work / 2;
    const int wait = 100 * step.host;
    small.annotation(fmt::format("ProfilerStep#{}", number++), Side::kCpu, time, 2 * half + wait);
    // Work runs 1000 us after its launch, so a wait of the host shows beyond those.
    small.launch("gemm", 1, time, half);
    small.launch("gemm", 1, time + half + wait, half);
    time += 2 * half + wait;
  }
  return small.read();
}

Configuration side_of(const std::string& label, const std::vector<std::vector<Made>>& ranks) {
  Configuration side{.label = label, .ranks = {}, .collectives = {}};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const model::Trace trace = rank_trace(ranks[rank]);
    const RankAnalysis analysis = analyze_rank(trace, {}, static_cast<int>(rank));
    side.ranks.push_back({.rank = static_cast<int>(rank), .book = individual_report(analysis)});
  }
  return side;
}

// The example: steps of 73.3, 88.1, 89.8 ms against 107.1 each. In the first step of `a`,
// rank 1 found its work launched; in the others it waited for its host.
Configuration waits_for_its_host() {
  return side_of("a", {{{733, 0}, {881, 0}, {898, 0}}, {{733, 0}, {681, 200}, {698, 200}}});
}

Configuration steady_run() {
  return side_of("b", {{{1071, 0}, {1071, 0}, {1071, 0}}, {{1071, 0}, {1071, 0}, {1071, 0}}});
}

TEST(StepStates, AFirstStepThatDiffersIsNoVerdict) {
  const Comparison comparison = compare({waits_for_its_host(), steady_run()}).value();
  const Change& headline = comparison.answer.headline;
  EXPECT_NEAR(headline.baseline, 88.95, 1e-9);
  EXPECT_NEAR(headline.test, 107.1, 1e-9);
  EXPECT_NEAR(headline.percent, -20.4, 0.01);
  EXPECT_EQ(headline.verdict, Verdict::kDifferent);
  EXPECT_NEAR(comparison.answer.mean.percent, -27.9, 0.05);
  const std::string words = all_words(comparison.answer);
  EXPECT_THAT(words, StartsWith("Which setting is better? b is 20.4 % slower than a in these runs "
                                "(95 %: "));
  EXPECT_THAT(words, HasSubstr("2 and 3 steps): 107.100 against 88.950 ms per steady step."));
  EXPECT_THAT(words, HasSubstr("Are the steps steady? No. 1 of 3 steps of a is not steady and left "
                               "out: step 3, the first of the profile, took 73.300 ms, 17.6 % less "
                               "than a steady one: rank 1 waited for its host "));
  EXPECT_THAT(words, HasSubstr("With it, its mean would be 5.86 % lower."));
  EXPECT_THAT(words, HasSubstr("Does a rank wait for its host? Yes. a: rank 1 waits for its host "
                               "for "));
  EXPECT_THAT(words, HasSubstr("And the mean of all profiled steps? b is 27.9 % slower than a: "
                               "107.100 against 83.733 ms a step (95 %: "));
  EXPECT_THAT(words, Not(HasSubstr("better)")));
  EXPECT_THAT(words, Not(HasSubstr("Yes. The confidence")));
}

TEST(StepStates, IdleTimeThatShrinksIsNotBetter) {
  Configuration a = waits_for_its_host();
  Configuration b = steady_run();
  // Two runs a side, so that the strongest verdicts are open.
  for (Configuration* side : {&a, &b}) {
    side->runs = {1, 2};
    const std::size_t count = side->ranks.size();
    for (std::size_t i = 0; i < count; ++i) {
      side->ranks[i].run = 1;
      side->ranks.push_back(side->ranks[i]);
      side->ranks.back().run = 2;
    }
  }
  const Comparison comparison = compare({a, b}).value();
  const model::Table& summary = *comparison.timeline_comparison.find("Summary_Comparison");
  EXPECT_EQ(text(cell_where(summary, "type", "total_time", "status")), "Worse");
  EXPECT_EQ(text(cell_where(summary, "type", "idle_time", "status")), "Shorter");
}

// The trace of rank 1 was cut after three steps. The mean over ranks of the others is of rank 0
// alone.
TEST(StepStates, StepsThatNotAllRanksHaveDoNotCount) {
  const std::vector<double> steps = {60, 60.1, 60.2, 60.1, 60, 60.2};
  Configuration a{.label = "a", .ranks = {}, .collectives = {}};
  a.ranks.push_back(testing::rank_report(0, {{"total_time", steps}}));
  a.ranks.push_back(testing::rank_report(1, {{"total_time", {62, 62.1, 62.2}}}));
  Configuration b{.label = "b", .ranks = {}, .collectives = {}};
  for (const int rank : {0, 1})
    b.ranks.push_back(testing::rank_report(rank, {{"total_time", steps}}));
  const Comparison comparison = compare({a, b}).value();
  const Answer& answer = comparison.answer;
  EXPECT_EQ(answer.headline.baseline_count, 3U);
  EXPECT_DOUBLE_EQ(answer.headline.baseline, 61.1);
  EXPECT_EQ(answer.mean.baseline_count, 3U);
  EXPECT_DOUBLE_EQ(answer.mean.baseline, 61.1);
  EXPECT_EQ(answer.headline.test_count, 6U);
  EXPECT_EQ(answer.baseline_transients,
            "3 of 6 steps of a are left out, which not all ranks have: rank 1 lacks 3.");
  EXPECT_EQ(answer.test_transients, "");
  const model::Table& table = *comparison.timeline_comparison.find("Steps");
  EXPECT_EQ(text(table.at(2, *table.column("state"))), "steady");
  EXPECT_EQ(text(table.at(3, *table.column("state"))), "not on all ranks");
}

// A step of kernels of equal length, and its work in hundreds of microseconds.
struct Launched {
  int kernels = 0;
  int work = 0;
};

Configuration side_that_launches(const std::vector<std::vector<Launched>>& ranks) {
  Configuration side{.label = "a", .ranks = {}, .collectives = {}};
  for (const std::vector<Launched>& steps : ranks) {
    testing::SmallTrace small;
    int time = 0;
    int number = 3;
    for (const Launched& step : steps) {
      const int kernel = 100 * step.work / step.kernels;
      small.annotation(fmt::format("ProfilerStep#{}", number++), Side::kCpu, time, 100 * step.work);
      for (int i = 0; i < step.kernels; ++i)
        small.launch("gemm", 1, time + i * kernel, kernel);
      time += 100 * step.work;
    }
    const model::Trace trace = small.read();
    const int rank = static_cast<int>(side.ranks.size());
    side.ranks.push_back({.rank = rank, .book = individual_report(analyze_rank(trace, {}, rank))});
  }
  return side;
}

TEST(StepStates, AStepThatOneRankHasInPartDoesNotCount) {
  const Configuration side =
      side_that_launches({{{2, 600}, {2, 600}, {2, 600}}, {{2, 600}, {2, 600}, {1, 300}}});
  const std::vector<StepState> states = step_states(side);
  ASSERT_EQ(states.size(), 2U);
  for (const StepState& state : states)
    EXPECT_NEAR(state.period_ms, 60, 1e-9);
  const Comparison comparison = compare({side, steady_run()}).value();
  EXPECT_EQ(comparison.answer.baseline_transients,
            "1 of 3 steps of a is left out, which not all ranks have: rank 1 has 1 that is not "
            "whole.");
  EXPECT_EQ(comparison.answer.mean.baseline_count, 2U);
  const model::Table& table = *comparison.timeline_comparison.find("Steps");
  EXPECT_EQ(text(table.at(2, *table.column("state"))), "not on all ranks");
  EXPECT_EQ(text(table.at(5, *table.column("state"))), "not whole");
}

// The other rank shows that the step is longer, and that there are more.
TEST(StepStates, ARankThatIsCutEarlierHasAStepInPart) {
  const Launched step{4, 600};
  const Configuration side =
      side_that_launches({{step, step, step, step, step, step}, {step, step, step, {1, 150}}});
  const std::vector<StepState> states = step_states(side);
  ASSERT_EQ(states.size(), 3U);
  for (const StepState& state : states)
    EXPECT_NEAR(state.period_ms, 60, 1e-9);
  EXPECT_EQ(compare({side, steady_run()}).value().answer.baseline_transients,
            "3 of 6 steps of a are left out, which not all ranks have: rank 1 lacks 2 and has 1 "
            "that is not whole.");
}

// It may be a step of another kind.
TEST(StepStates, AStepThatIsShortOnAllRanksCounts) {
  const std::vector<Launched> rank = {{2, 600}, {2, 600}, {1, 300}};
  EXPECT_EQ(step_states(side_that_launches({rank, rank})).size(), 3U);
}

// Steps of another kind would hardly be a fraction of three alike.
TEST(StepStates, AStepThatIsCutOnAllRanksDoesNotCount) {
  const Launched step{4, 600};
  const std::vector<Launched> rank = {step, step, step, {1, 150}};
  for (const Configuration& side : {side_that_launches({rank}), side_that_launches({rank, rank})}) {
    const std::vector<StepState> states = step_states(side);
    ASSERT_EQ(states.size(), 3U);
    for (const StepState& state : states)
      EXPECT_NEAR(state.period_ms, 60, 1e-9);
  }
  EXPECT_THAT(transients_in_words(side_that_launches({rank, rank})),
              StartsWith("1 of 4 steps of a is left out, which not all ranks have: rank 0 has 1 "
                         "that is not whole, rank 1 has 1"));
  const std::vector<Launched> varied = {{4, 600}, {6, 900}, {4, 600}, {1, 150}};
  EXPECT_EQ(step_states(side_that_launches({varied})).size(), 4U);
  const std::vector<Launched> longer = {step, step, step, {1, 600}};
  EXPECT_EQ(step_states(side_that_launches({longer})).size(), 4U);
}

// Steps of 1000 us work for 800. Those that are profiled end with their work, with or without a
// step in part behind them.
TEST(StepStates, TheLastStepThatCountsEndsWithItsWork) {
  const auto lengths_of = [](const std::vector<int>& steps) {
    testing::SmallTrace small;
    int time = 0;
    int number = 3;
    for (const int kernels : steps) {
      small.annotation(fmt::format("ProfilerStep#{}", number++), Side::kCpu, time, 1000);
      for (int i = 0; i < kernels; ++i)
        small.launch("gemm", 1, time + i * 200, 200);
      time += 1000;
    }
    const model::Trace trace = small.read();
    Configuration side{.label = "a", .ranks = {}, .collectives = {}};
    side.ranks.push_back({.rank = 0, .book = individual_report(analyze_rank(trace, {}, 0))});
    std::vector<double> lengths_ms;
    for (const TimelineFigure& figure : steady_figures(side))
      if (figure.type == kAllSteps) lengths_ms.push_back(figure.time_ms);
    return lengths_ms;
  };
  EXPECT_THAT(lengths_of({4, 4, 4}), ElementsAre(1, 1, 0.8));
  EXPECT_THAT(lengths_of({4, 4, 4, 1}), ElementsAre(1, 1, ::testing::DoubleNear(0.8, 1e-9)));
}

// Rank 0 logs each step in the next one, and the last step is the one that became slow.
TEST(StepStates, AStepOfFewerKernelsThatIsAsLongAsOnOtherRanksCounts) {
  const std::vector<StepState> states = step_states(side_that_launches(
      {{{6, 600}, {6, 600}, {6, 600}, {5, 900}}, {{5, 600}, {5, 600}, {5, 600}, {5, 900}}}));
  ASSERT_EQ(states.size(), 4U);
  EXPECT_NEAR(states.back().period_ms, 90, 1e-9);
}

// Rank 0 saves a checkpoint behind its last step.
TEST(StepStates, AStepOfFewerKernelsThatIsAsLongAsThoseBeforeCounts) {
  const std::vector<Launched> other = {{6, 600}, {6, 600}, {6, 600}, {5, 600}};
  EXPECT_EQ(
      step_states(side_that_launches({{{6, 600}, {6, 600}, {6, 600}, {9, 900}}, other, other}))
          .size(),
      4U);
}

// Nobody waits for the others, as where each rank serves requests of its own.
TEST(StepStates, AShorterStepOfARankThatRunsOnItsOwnCounts) {
  EXPECT_EQ(step_states(side_that_launches({{{5, 500}, {8, 800}, {7, 700}, {6, 600}},
                                            {{7, 700}, {5, 500}, {6, 600}, {4, 400}}}))
                .size(),
            4U);
}

TEST(StepStates, AStepThatMayHoldTheNextDoesNotCount) {
  Configuration side = steady_run();
  model::Table& steps = side.ranks[0].book.tables[2];
  ASSERT_EQ(steps.name, "steps");
  steps.cells[steps.columns.size() + *steps.column(kEndColumn)] = std::string(kHoldsNext);
  const std::vector<StepState> states = step_states(side);
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[1].step, 5);
}

TEST(StepStates, StepsOfRanksThatShareNoneCount) {
  std::vector<RankStep> steps;
  for (const int step : {0, 1, 2, 3})
    steps.push_back({.rank = step / 2, .step = step, .period_ms = 10});
  EXPECT_EQ(step_states(steps).size(), 4U);
}

// Every other step, or so, takes a tenth longer: without these its time would be that of the
// others.
TEST(StepStates, StepsOfASecondModeCount) {
  Configuration a = side_of("a", {{{1000, 0}, {1100, 0}, {1000, 0}, {1000, 0}, {1100, 0}}});
  Configuration b = side_of("b", {{{1000, 0}, {1000, 0}, {1100, 0}, {1000, 0}, {1000, 0}}});
  settle_modes(a, b);
  EXPECT_EQ(a.modes, Modes::kAll);
  for (const Configuration* side : {&a, &b})
    for (const StepState& state : step_states(*side))
      EXPECT_TRUE(state.is_steady) << side->label << " " << state.step;
  EXPECT_EQ(transients_in_words(a),
            "2 of 5 steps of a are of another mode: 10 % more time on average. Steps of all modes "
            "count.");
  EXPECT_THAT(transients_in_words(b), StartsWith("1 of 5 steps of b is of another mode"));
  const Comparison comparison = compare({a, b}).value();
  EXPECT_NEAR(comparison.answer.headline.baseline, 104, 0.01);
  EXPECT_NEAR(comparison.answer.headline.test, 102, 0.01);
  EXPECT_EQ(comparison.answer.headline.verdict, Verdict::kUnclear);

  Configuration c = side_of("c", {{{1000, 0}, {1000, 0}, {1000, 0}, {1000, 0}, {1000, 0}}});
  settle_modes(b, c);
  EXPECT_EQ(b.modes, Modes::kUsual) << "one step of five is an exception";
}

TEST(StepStates, TheSheetTellsEachRankAndStep) {
  const Comparison comparison = compare({waits_for_its_host(), steady_run()}).value();
  const model::Table& steps = *comparison.timeline_comparison.find("Steps");
  ASSERT_EQ(steps.row_count(), 12U);
  const auto cell = [&steps](std::size_t row, const char* column) {
    return steps.at(row, *steps.column(column));
  };
  EXPECT_EQ(text(cell(3, "run")), "a");
  EXPECT_EQ(number(cell(3, "rank")), 1);
  EXPECT_EQ(text(cell(3, "state")), "transient: host of rank 1");
  EXPECT_EQ(text(cell(4, "state")), "steady");
  EXPECT_EQ(number(cell(3, "host-bound ms")), 0);
  // The host waits 20 ms; work needs 1 ms from its launch to its start.
  EXPECT_NEAR(number(cell(4, "host-bound ms")), 20, 1.001);
  EXPECT_GT(number(cell(4, "host-bound %")), 20);
  EXPECT_EQ(number(cell(4, "launch delay us")), 1000);
  EXPECT_NE(comparison.final_report.find("GPU_Steps"), nullptr);
}

// The parts add up to the steady period, since all are of the same steps.
TEST(StepStates, PartsAddUpToTheSteadyPeriod) {
  const Comparison comparison = compare({waits_for_its_host(), steady_run()}).value();
  const model::Table& summary = *comparison.timeline_comparison.find("Summary_Comparison");
  double sum = 0;
  for (const char* part :
       {"computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle_time"})
    sum += number(cell_where(summary, "type", part, "a_time_ms"));
  EXPECT_NEAR(sum, number(cell_where(summary, "type", "total_time", "a_time_ms")), 1e-9);
  EXPECT_NEAR(sum, 88.95, 1e-9);
}

std::vector<RankStep> run_of(const std::vector<double>& periods,
                             const std::vector<double>& host_ms,
                             const std::vector<double>& comm_ms = {}) {
  std::vector<RankStep> steps;
  for (const int rank : {0, 1, 2})
    for (std::size_t i = 0; i < periods.size(); ++i)
      steps.push_back({.rank = rank,
                       .step = static_cast<std::int64_t>(i),
                       .period_ms = periods[i],
                       .host_ms = rank == 0 ? host_ms[i] : 0,
                       .wait_ms = 0,
                       .comm_ms = rank == 2 || comm_ms.empty() ? 5 : comm_ms[i]});
  return steps;
}

std::vector<bool> steady(const std::vector<StepState>& states) {
  std::vector<bool> result;
  for (const StepState& state : states)
    result.push_back(state.is_steady);
  return result;
}

// The bundled run of 2 GPUs: its last step is shorter because the host was faster, which the three
// periods alone do not tell from noise.
TEST(StepStates, TheHostExplainsWhatPeriodsDoNotTell) {
  const auto states = step_states(run_of({23.3, 24.7, 19.9}, {8.24, 8.32, 4.31}));
  EXPECT_THAT(steady(states), ElementsAre(true, true, false));
  EXPECT_EQ(states[2].cause, Cause::kHost);
  EXPECT_EQ(states[2].rank, 0);
  EXPECT_NEAR(states[2].ms, 4.31 - 8.28, 1e-9);
  EXPECT_DOUBLE_EQ(states[2].steady_ms, 24);
  // Without the host's change, it is noise.
  EXPECT_THAT(steady(step_states(run_of({23.3, 24.7, 19.9}, {8.24, 8.32, 8.31}))),
              ElementsAre(true, true, true));
}

TEST(StepStates, AStragglerIsTheRankThatTheOthersWaitFor) {
  const auto states = step_states(run_of({30, 30.1, 36, 30.05}, {0, 0, 0, 0}, {5, 5, 11, 5}));
  EXPECT_THAT(steady(states), ElementsAre(true, true, false, true));
  EXPECT_EQ(states[2].cause, Cause::kStraggler);
  EXPECT_EQ(states[2].rank, 2);
  EXPECT_DOUBLE_EQ(states[2].ms, 6);
}

// Of three steps two always lie closer together.
TEST(StepStates, AmongFewStepsOneThatDiffersWithoutACauseIsNoise) {
  EXPECT_THAT(steady(step_states(run_of({30, 33, 30.1}, {0, 0, 0}))),
              ElementsAre(true, true, true));
  EXPECT_THAT(steady(step_states(run_of({30, 33, 30.1, 30.05, 30.02}, {0, 0, 0, 0, 0}))),
              ElementsAre(true, false, true, true, true));
  EXPECT_THAT(steady(step_states(run_of({30, 33, 30.1}, {0, 0, 0}, {5, 8, 5}))),
              ElementsAre(true, false, true));
}

// Every rank computes longer in one step, so that none waits for another.
TEST(StepStates, AStepInWhichRanksComputeLongerIsNamed) {
  std::vector<RankStep> steps = run_of({30, 30.1, 36, 30.05, 30.02}, {0, 0, 0, 0, 0});
  for (RankStep& step : steps)
    step.compute_ms = step.step == 2 ? 25 : 20;
  const auto states = step_states(steps);
  EXPECT_THAT(steady(states), ElementsAre(true, true, false, true, true));
  EXPECT_EQ(states[2].cause, Cause::kCompute);
  EXPECT_DOUBLE_EQ(states[2].ms, 5);
  // Among few steps one that differs is no evidence.
  std::erase_if(steps, [](const RankStep& step) { return step.step > 3; });
  EXPECT_THAT(steady(step_states(steps)), ElementsAre(true, true, true, true));
}

TEST(StepStates, TheFirstAfterAWaitIsNamed) {
  std::vector<RankStep> steps = run_of({25, 30, 30.1, 30.05}, {0, 0, 0, 0});
  EXPECT_EQ(step_states(steps)[0].cause, Cause::kFirst);
  for (RankStep& step : steps)
    if (step.step == 0) step.wait_ms = 12;
  const StepState first = step_states(steps)[0];
  EXPECT_EQ(first.cause, Cause::kWait);
  EXPECT_DOUBLE_EQ(first.ms, 12);
}

TEST(StepStates, EachRunHasItsOwnSteadyState) {
  std::vector<RankStep> steps = run_of({30, 30.1, 30.2}, {0, 0, 0});
  for (RankStep step : run_of({40, 33, 33.1}, {0, 0, 0})) {
    step.run = 2;
    steps.push_back(step);
  }
  const StepSet found = steady_steps(step_states(steps));
  EXPECT_THAT(found, ElementsAre(std::pair(0, 0), std::pair(0, 1), std::pair(0, 2), std::pair(2, 1),
                                 std::pair(2, 2)));
}

TEST(StepStates, HostBoundRanksAreSortedAndSmallSharesAreOfNoInterest) {
  const std::vector<RankStep> steps = run_of({30, 30, 30}, {3, 3, 3}, {8, 8, 8});
  const auto bound = host_bound_ranks(steps, steady_steps(step_states(steps)));
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_EQ(bound[0].rank, 0);
  EXPECT_DOUBLE_EQ(bound[0].share, 10);
  EXPECT_EQ(bound[0].steps, 3);
  EXPECT_TRUE(host_bound_ranks(run_of({30, 30, 30}, {0.5, 0.5, 0.5}), {{0, 0}}).empty());
}

// Reports of earlier versions have no sheet `steps`.
RankStep whole_step(int rank, std::int64_t step, double period_ms, bool is_whole = true) {
  return {.rank = rank, .step = step, .period_ms = period_ms, .is_whole = is_whole};
}

// Each rank lost another step, so that no step is whole on both.
TEST(StepStates, WhatARankHasInPartIsNotInTheMean) {
  const std::vector<RankStep> steps = {whole_step(0, 1, 200, false), whole_step(0, 3, 100),
                                       whole_step(0, 4, 100),        whole_step(1, 1, 100),
                                       whole_step(1, 2, 100),        whole_step(1, 3, 200, false)};
  for (const StepState& state : step_states(steps))
    EXPECT_EQ(state.period_ms, 100) << "step " << state.step;
}

TEST(StepStates, ReportsWithoutTheSheetAreComparedByTheirSteps) {
  Configuration a = waits_for_its_host();
  for (RankReport& report : a.ranks)
    std::erase_if(report.book.tables,
                  [](const model::Table& table) { return table.name == "steps"; });
  const Answer found = answer({a, steady_run()});
  EXPECT_NEAR(found.headline.baseline, 88.95, 1.0);
  EXPECT_THAT(all_words(found), HasSubstr("step 3, the first of the profile, took 73.300 ms"));
}

}  // namespace
}  // namespace assay::trace
