#include "trace/path/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "trace/path/apart_ranks.h"
#include "trace/path/places.h"
#include "trace/path/report.h"
#include "trace/path/simulated_run_test_util.h"

namespace assay::trace::path {
namespace {

using testing::Done;
using testing::SimulatedRun;

double us_of(const Composition& parts, Part part) {
  return static_cast<double>(parts[static_cast<std::size_t>(part)]) / 1000;
}

struct Result {
  Execution execution;
  std::vector<Segment> path;
  std::vector<Composition> steps;
};

Result path_of(SimulatedRun& run) {
  Result result;
  result.execution = execution_of(run.ranks());
  result.path = critical_path(result.execution);
  result.steps = compositions(result.execution, result.path);
  return result;
}

void expect_tiled(const Result& result) {
  std::int64_t time_ns = result.execution.steps.front().start_ns;
  for (const Segment& segment : result.path) {
    EXPECT_EQ(segment.start_ns, time_ns);
    EXPECT_GT(segment.length_ns(), 0);
    time_ns = segment.end_ns;
  }
  EXPECT_EQ(time_ns, result.execution.steps.back().end_ns);
  for (std::size_t s = 0; s < result.steps.size(); ++s)
    EXPECT_EQ(std::accumulate(result.steps[s].begin(), result.steps[s].end(), std::int64_t{0}),
              result.execution.steps[s].length_ns());
}

TEST(CriticalPath, KernelsOfOneStreamAreAllOnIt) {
  SimulatedRun run(1);
  for (int step = 1; step <= 2; ++step) {
    run.begin_step(step);
    run.kernel("gemm", {100});
    run.kernel("copy", {50});
  }
  const Result result = path_of(run);
  expect_tiled(result);
  ASSERT_EQ(result.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(us_of(result.steps[0], Part::kComputation), 150);
  EXPECT_DOUBLE_EQ(us_of(result.steps[1], Part::kComputation), 150);
}

// The network is busy for 60 us beside 100 us of computation, which then waits for another 80 us.
TEST(CriticalPath, CommunicationIsOnItWhereNothingHidesIt) {
  SimulatedRun run(2);
  for (int step = 1; step <= 3; ++step) {
    run.begin_step(step);
    const Done first = run.kernel("first", {40});
    const Done hidden = run.collective({"allgather", 1000}, 60, SimulatedRun::kNetwork, {first});
    run.kernel("second", {100});
    const Done exposed = run.collective({"allgather", 2000}, 120, SimulatedRun::kNetwork);
    run.kernel("third", {30}, SimulatedRun::kCompute, {hidden, exposed});
  }
  const Result result = path_of(run);
  expect_tiled(result);
  for (const Composition& step : result.steps) {
    EXPECT_DOUBLE_EQ(us_of(step, Part::kComputation), 70);  // first and third
    EXPECT_DOUBLE_EQ(us_of(step, Part::kCommunication), 180);
    EXPECT_DOUBLE_EQ(us_of(step, Part::kIdle), 0);
  }
}

// Four stages of a pipeline pass three micro-batches on.
SimulatedRun pipeline(bool is_buffered) {
  SimulatedRun run(4);
  for (int step = 1; step <= 3; ++step) {
    run.begin_step(step);
    for (int batch = 0; batch < 3; ++batch) {
      for (int stage = 0; stage < 4; ++stage) {
        run.kernel_on(stage, "gemm", stage == 2 ? 500 : 400);
        if (stage < 3) run.message(stage, stage + 1, 50, is_buffered);
      }
    }
    const Done sum = run.collective({}, 25, SimulatedRun::kCompute);
    for (int r = 0; r < 4; ++r)
      run.wait_on_host(r, sum.end_us[static_cast<std::size_t>(r)]);
  }
  return run;
}

// The first batch passes all stages, the others follow through the slowest one.
TEST(CriticalPath, ItGoesFromAReceiveToTheSender) {
  for (const bool is_buffered : {false, true}) {
    SimulatedRun run = pipeline(is_buffered);
    const Result result = path_of(run);
    expect_tiled(result);
    const Composition& step = result.steps[1];
    EXPECT_DOUBLE_EQ(us_of(step, Part::kUnmatched), 0);
    const double computes_us = us_of(step, Part::kComputation) + us_of(step, Part::kStraggler);
    EXPECT_NEAR(computes_us, 3 * 500 + 3 * 400, 120) << is_buffered;
    EXPECT_NEAR(us_of(step, Part::kCommunication), 3 * 50 + 25, 120) << is_buffered;
    EXPECT_NEAR(computes_us + us_of(step, Part::kCommunication),
                static_cast<double>(result.execution.steps[1].length_ns()) / 1000, 30);
  }
}

// Nothing tells whether the kernels wait.
TEST(CriticalPath, CommunicationThatIsNotMatchedIsToldAsSuch) {
  SimulatedRun run(2);
  for (int step = 1; step <= 3; ++step) {
    run.begin_step(step);
    run.kernel("gemm", {100, 300});
    run.kernel("ncclDevKernel_SendRecv", {200, 10});
  }
  const Result result = path_of(run);
  expect_tiled(result);
  EXPECT_GT(us_of(result.steps[1], Part::kUnmatched), 0);
  EXPECT_DOUBLE_EQ(us_of(result.steps[1], Part::kCommunication), 0);
}

// Some all ranks leave together, and some the first rank leaves before the last one comes.
TEST(CriticalPath, BroadcastsJoinTheirRanksUnlessOneEverLeftEarly) {
  for (const bool leaves_early : {false, true}) {
    SimulatedRun run(3);
    for (int step = 1; step <= 3; ++step) {
      run.begin_step(step);
      run.kernel("gemm", {100, 100, 300});
      if (leaves_early)
        run.kernel_with_message("ncclDevKernel_Broadcast", {.name = "broadcast"}, 20);
      else
        run.collective({.name = "broadcast"}, 20, SimulatedRun::kCompute);
    }
    const Result result = path_of(run);
    EXPECT_EQ(result.execution.joins.size(), leaves_early ? 0U : 3U);
  }
}

TEST(CriticalPath, ItGoesThroughTheRankThatArrivesLast) {
  SimulatedRun run(4);
  for (int step = 1; step <= 3; ++step) {
    run.begin_step(step);
    const Done work = run.kernel("work", {100, 100, 100, 140});
    const Done sum = run.collective({}, 25, SimulatedRun::kNetwork, {work});
    run.kernel("use", {10}, SimulatedRun::kCompute, {sum});
  }
  const Result result = path_of(run);
  expect_tiled(result);
  for (const Composition& step : result.steps) {
    EXPECT_DOUBLE_EQ(us_of(step, Part::kComputation), 110);
    EXPECT_DOUBLE_EQ(us_of(step, Part::kStraggler), 40);
    EXPECT_DOUBLE_EQ(us_of(step, Part::kCommunication), 25);
  }
  for (const Segment& segment : result.path) {
    if (segment.part != Part::kStraggler) continue;
    EXPECT_EQ(result.execution.ranks[segment.rank].number, 3);
    EXPECT_EQ(segment.cause, Part::kComputation);
  }
}

TEST(CriticalPath, TheHostIsOnItWhereTheGpuWaitsForALaunch) {
  SimulatedRun run(1);
  for (int step = 1; step <= 2; ++step) {
    run.begin_step(step);
    run.kernel("first", {100});
    run.delay_host(0, 300);
    run.kernel("second", {100});
  }
  const Result result = path_of(run);
  expect_tiled(result);
  // The second kernel starts 300 us and a launch of 2 us after the first one, which takes 100.
  EXPECT_DOUBLE_EQ(us_of(result.steps[0], Part::kHost), 202);
  EXPECT_DOUBLE_EQ(us_of(result.steps[0], Part::kComputation), 200);
}

TEST(CriticalPath, ItGoesThroughOtherStreams) {
  SimulatedRun run(1);
  for (int step = 1; step <= 3; ++step) {
    run.begin_step(step);
    const Done first = run.kernel("first", {40});
    const Done side = run.kernel("side", {200}, 9, {first});
    run.kernel("hidden", {50});
    run.kernel("last", {20}, SimulatedRun::kCompute, {side});
  }
  const Result result = path_of(run);
  expect_tiled(result);
  std::string names;
  for (const Segment& segment : result.path)
    if (segment.step == 1)
      names += result.execution.kernels[result.execution.works[segment.work].kernel].name + " ";
  EXPECT_EQ(names, "first side last ");
}

// Returns whether the path goes through the kernel "side", which ends while "last" is about to
// start though it waits for "main" alone. `odd_us` is the length of "side" in one of the steps.
bool goes_through_side(double odd_us) {
  SimulatedRun run(1);
  for (int step = 1; step <= 6; ++step) {
    run.begin_step(step);
    const Done start = run.kernel("start", {10});
    run.kernel("side", {step == 3 ? odd_us : 110}, 9, {start});
    Done main = run.kernel("main", {100});
    main.end_us[0] += 20;  // it takes its time to start
    run.kernel("last", {300}, 11, {main});
    run.kernel("next", {1}, SimulatedRun::kCompute, {{{main.end_us[0] + 300}}});
  }
  const Result result = path_of(run);
  expect_tiled(result);
  return std::any_of(result.path.begin(), result.path.end(), [&](const Segment& segment) {
    return result.execution.kernels[result.execution.works[segment.work].kernel].name == "side";
  });
}

TEST(CriticalPath, AWaitThatAStepContradictsIsNone) {
  EXPECT_TRUE(goes_through_side(110));
  EXPECT_FALSE(goes_through_side(200));
}

// Returns whether the path goes through "side", for which "last" waits, though "other" ends later.
bool goes_through_recorded_wait(bool is_recorded) {
  SimulatedRun run(1);
  run.begin_step(1);
  const Done start = run.kernel("start", {10});
  Done side = run.kernel("side", {100}, 9, {start});
  run.kernel("other", {110}, 11, {start});
  run.kernel("main", {50});
  side.end_us[0] += 20;
  if (is_recorded) run.record_wait(0, SimulatedRun::kCompute, 9);
  run.kernel("last", {300}, SimulatedRun::kCompute, {side});
  const Result result = path_of(run);
  expect_tiled(result);
  return std::any_of(result.path.begin(), result.path.end(), [&](const Segment& segment) {
    return result.execution.kernels[result.execution.works[segment.work].kernel].name == "side";
  });
}

TEST(Execution, WaitsThatTheTraceRecordedAreTaken) {
  EXPECT_FALSE(goes_through_recorded_wait(false));
  EXPECT_TRUE(goes_through_recorded_wait(true));
}

TEST(Execution, ClocksAreAlignedByCollectives) {
  SimulatedRun run(2);
  for (int step = 1; step <= 3; ++step) {
    run.begin_step(step);
    const Done work = run.kernel("work", {100, 130});
    const Done sum = run.collective({}, 25, SimulatedRun::kNetwork, {work});
    run.kernel("use", {10}, SimulatedRun::kCompute, {sum});
  }
  run.shift_clock(1, 5000);
  const Result result = path_of(run);
  expect_tiled(result);
  EXPECT_DOUBLE_EQ(result.execution.ranks[1].clock.offset_us, 5000);
  EXPECT_DOUBLE_EQ(result.execution.ranks[1].clock.removed_us, 5000);
  EXPECT_DOUBLE_EQ(result.execution.ranks[1].clock.residual_us, 0);
  EXPECT_DOUBLE_EQ(us_of(result.steps[1], Part::kStraggler), 30);
}

TEST(Execution, ClocksThatDriftAreAligned) {
  SimulatedRun run(2);
  for (int step = 1; step <= 20; ++step) {
    run.begin_step(step);
    const Done work = run.kernel("work", {100'000, 100'030});
    const Done sum = run.collective({}, 25, SimulatedRun::kNetwork, {work});
    run.kernel("use", {10}, SimulatedRun::kCompute, {sum});
  }
  run.shift_clock(1, 5000);
  run.drift_clock(1, 40);
  const Result result = path_of(run);
  EXPECT_NEAR(result.execution.ranks[1].clock.drift_ppm, 40, 0.01);
  EXPECT_NEAR(result.execution.ranks[1].clock.spread_us, 0, 0.01);
  for (std::size_t s = 1; s + 1 < result.steps.size(); ++s)
    EXPECT_NEAR(us_of(result.steps[s], Part::kStraggler), 30, 0.1);
}

// Two ranks of which the second one's times lie later, and that no collective links.
core::Status overlap_of_unlinked(double later_us) {
  SimulatedRun run(2);
  for (int step = 1; step <= 2; ++step) {
    run.begin_step(step);
    run.kernel("work", {100, 100});
  }
  run.shift_clock(1, later_us);
  return check_overlap(execution_of(run.ranks()));
}

TEST(Execution, RanksOfOtherTimesAreRefused) {
  EXPECT_TRUE(overlap_of_unlinked(0).ok());
  EXPECT_TRUE(overlap_of_unlinked(250).ok());  // as in a pipeline
  const core::Status later = overlap_of_unlinked(9e8);
  ASSERT_FALSE(later.ok());
  EXPECT_THAT(later.error().message, ::testing::StartsWith("the steps of rank 0 had ended 900 s"));
  const core::Status earlier = overlap_of_unlinked(-9e8);
  ASSERT_FALSE(earlier.ok());
  EXPECT_THAT(earlier.error().message, ::testing::HasSubstr("those of rank 0 began"));
}

TEST(Execution, StepsAreAsLongAsTheMeanOfTheRanks) {
  SimulatedRun run(2);
  for (int step = 1; step <= 2; ++step) {
    run.begin_step(step);
    run.kernel("work", {100, 130});
  }
  const Execution execution = execution_of(run.ranks());
  ASSERT_EQ(execution.steps.size(), 2U);
  EXPECT_EQ(execution.steps[0].length_ns(), 115'000);
  EXPECT_EQ(execution.steps[1].length_ns(), 115'000);
}

TEST(Execution, ATraceWithoutStepsIsOneStep) {
  SimulatedRun run(1);
  run.kernel("work", {100});
  const Result result = path_of(run);
  expect_tiled(result);
  EXPECT_FALSE(result.execution.has_steps);
  EXPECT_DOUBLE_EQ(us_of(result.steps[0], Part::kComputation), 100);
}

TEST(Execution, NoRanksAreNothing) {
  const Execution execution = execution_of({});
  EXPECT_TRUE(critical_path(execution).empty());
}

TEST(PathReport, TheMeanIsOfWholeSteps) {
  SimulatedRun run(1);
  for (int step = 1; step <= 3; ++step) {
    run.begin_step(step);
    const Done work = run.kernel("work", {100});
    run.wait_on_host(0, work.end_us[0] + 60);
  }
  const Result result = path_of(run);
  const model::Book book = path_report(result.execution, result.path, {});
  const model::Table& steps = *book.find("critical_path_steps");
  const auto length_ms = [&](std::size_t row) { return model::number(steps.at(row, 1)); };
  EXPECT_LT(length_ms(2), length_ms(1) - 0.05);  // its wait for a next step is not in the trace
  EXPECT_NEAR(length_ms(3), (length_ms(0) + length_ms(1)) / 2, 1e-6);
}

TEST(PathReport, TheMeanIsOfSteadySteps) {
  SimulatedRun run(1);
  for (int step = 1; step <= 4; ++step) {
    run.begin_step(step);
    const Done work = run.kernel("work", {step == 1 ? 500.0 : 100.0});
    run.wait_on_host(0, work.end_us[0] + 60);
  }
  const Result result = path_of(run);
  const model::Book book = path_report(result.execution, result.path, {2, 3, 4});
  const model::Table& steps = *book.find("critical_path_steps");
  const auto length_ms = [&](std::size_t row) { return model::number(steps.at(row, 1)); };
  EXPECT_GT(length_ms(0), length_ms(1) + 0.3);
  EXPECT_NEAR(length_ms(4), (length_ms(1) + length_ms(2)) / 2, 1e-6);
  EXPECT_EQ(steps.notes.back(),
            "The mean leaves out step 1, which is not steady, and step 4, which ends with the "
            "trace and not where a next one begins.");
  const model::Table& kernels = *book.find("critical_path_kernels");
  EXPECT_NEAR(model::number(kernels.at(0, *kernels.column("ms per step"))), 0.1, 1e-6);
}

TEST(PathReport, ThePartsOfARowAddUpToItsStep) {
  SimulatedRun run(2);
  for (int step = 1; step <= 2; ++step) {
    run.begin_step(step);
    const Done work = run.kernel("work", {100, 130});
    run.collective({}, 25, SimulatedRun::kNetwork, {work});
  }
  const Result result = path_of(run);
  const model::Book book = path_report(result.execution, result.path, {});
  const model::Table& steps = *book.find("critical_path_steps");
  ASSERT_EQ(steps.row_count(), 3U);  // two steps and their mean
  for (std::size_t row = 0; row < steps.row_count(); ++row) {
    double sum = 0;
    for (std::size_t column = 2; column < steps.columns.size(); ++column)
      sum += model::number(steps.at(row, column));
    EXPECT_NEAR(sum, model::number(steps.at(row, 1)), 1e-5);
  }
  EXPECT_EQ(book.find("clock_alignment")->row_count(), 2U);
}

// The steps begin at the mean over ranks, before the first work of the rank whose host is late.
TEST(CriticalPath, AHostIsLateInTheFirstStepToo) {
  SimulatedRun run(4);
  for (int step = 1; step <= 3; ++step) {
    run.begin_step(step);
    run.delay_host(1, 1000);
    const Done work = run.kernel("work", {100});
    const Done sum = run.collective({}, 25, SimulatedRun::kNetwork, {work});
    const Done last = run.kernel("use", {10}, SimulatedRun::kCompute, {sum});
    for (int rank = 0; rank < 4; ++rank)
      run.wait_on_host(rank, last.end_us[static_cast<std::size_t>(rank)]);
  }
  const Result result = path_of(run);
  expect_tiled(result);
  EXPECT_DOUBLE_EQ(us_of(result.steps[0], Part::kIdle), 0);
  EXPECT_DOUBLE_EQ(us_of(result.steps[1], Part::kIdle), 0);
  EXPECT_NEAR(us_of(result.steps[0], Part::kHost), us_of(result.steps[1], Part::kHost), 5);
}

// Four ranks of which the hosts named are held up before they launch what they compute.
model::Book report_of_late_hosts(const std::vector<int>& late,
                                 int network,
                                 double compute_us = 10'000) {
  SimulatedRun run(4);
  for (int step = 1; step <= 4; ++step) {
    run.begin_step(step);
    for (const int rank : late)
      run.delay_host(rank, 5000);
    const Done work = run.kernel("work", {compute_us, 10'000, 10'000, 10'000});
    const Done sum = run.collective({}, 1000, network, {work});
    for (int rank = 0; rank < 4; ++rank)
      run.wait_on_host(rank, sum.end_us[static_cast<std::size_t>(rank)]);
  }
  const Result result = path_of(run);
  expect_tiled(result);
  return path_report(result.execution, result.path, {});
}

// 10 ms of work, 1 of communication and 5 of one host: the others begin to wait when the late rank
// computes.
TEST(PathReport, AHostsDelayAndTheWaitForItAreOne) {
  for (const int network : {SimulatedRun::kCompute, SimulatedRun::kNetwork}) {
    const model::Book book = report_of_late_hosts({0}, network);
    const model::Table& steps = *book.find("critical_path_steps");
    const std::size_t mean = steps.row_count() - 1;
    EXPECT_NEAR(model::number(steps.at(mean, *steps.column("step ms"))), 16, 0.05);
    EXPECT_NEAR(model::number(steps.at(mean, *steps.column("host launch ms"))), 5, 0.05);
    EXPECT_NEAR(model::number(steps.at(mean, *steps.column("waiting for straggler ms"))), 5, 0.05);
    EXPECT_EQ(
        steps.notes.at(1),
        "Others wait 5 ms a step for rank 0, 5 ms of it because its host launched late; 5 ms of "
        "'host launch' are this same delay where it arose, not a further one.");
  }
}

// Two of four ranks have a trace. A late host holds up a collective of the four, and the other one
// a collective of these two.
TEST(PathReport, ALateHostBeforeACollectiveThatLacksRanksIsThatOfItsLastRank) {
  SimulatedRun run(2);
  for (int step = 1; step <= 4; ++step) {
    run.begin_step(step);
    run.delay_host(0, 5000);
    const Done work = run.kernel("work", {3000});
    const Done all = run.collective({.absent_ranks = 2}, 500, SimulatedRun::kCompute, {work});
    for (int rank = 0; rank < 2; ++rank)
      run.wait_on_host(rank, all.end_us[static_cast<std::size_t>(rank)]);
    run.delay_host(1, 300);
    run.kernel("more work", {2000});
    const Done pair = run.collective({}, 500, SimulatedRun::kCompute);
    for (int rank = 0; rank < 2; ++rank)
      run.wait_on_host(rank, pair.end_us[static_cast<std::size_t>(rank)]);
  }
  const Result result = path_of(run);
  const model::Book book = path_report(result.execution, result.path, {});
  std::string notes;
  for (const std::string& note : book.find("critical_path_steps")->notes)
    notes += note + '\n';
  EXPECT_NE(notes.find("wait 5 ms a step for rank 0, 5 ms of it because"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("wait 0.3 ms a step for rank 1, 0.3 ms of it because"), std::string::npos)
      << notes;
}

TEST(PathReport, HostsThatAreAllLateAreNoStragglers) {
  for (const int network : {SimulatedRun::kCompute, SimulatedRun::kNetwork}) {
    const model::Book book = report_of_late_hosts({0, 1, 2, 3}, network, 15'000);
    for (const std::string& note : book.find("critical_path_steps")->notes)
      EXPECT_EQ(note.find("launched late"), std::string::npos) << note;
  }
}

}  // namespace
}  // namespace assay::trace::path
