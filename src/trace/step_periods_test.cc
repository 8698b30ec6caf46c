#include "trace/step_periods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/sheet.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using ::testing::ElementsAre;
using Side = testing::SmallTrace::Side;

std::vector<StepPeriod> periods_of(const model::Trace& trace) {
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  return step_periods(rank, busy_intervals(rank));
}

std::vector<std::int64_t> lengths_us(const std::vector<StepPeriod>& steps) {
  std::vector<std::int64_t> lengths;
  for (const StepPeriod& step : steps)
    lengths.push_back(step.period.length() / 1000);
  return lengths;
}

// Steps that begin every 100 us and whose work, 60 us, starts 1000 us after its launch.
testing::SmallTrace regular_steps(int count) {
  testing::SmallTrace small;
  for (int step = 0; step < count; ++step) {
    small.annotation(fmt::format("ProfilerStep#{}", step + 1), Side::kCpu, 100 * step, 100);
    small.launch("gemm", 1, 100 * step + 10, 60);
  }
  return small;
}

// Its own work ends 40 us before the next step would begin.
TEST(StepPeriods, TheLastStepIsCompletedByTheUsualWait) {
  const std::vector<StepPeriod> steps = periods_of(regular_steps(3).read());
  EXPECT_THAT(lengths_us(steps), ElementsAre(100, 100, 100));
  EXPECT_EQ(steps[1].end, PeriodEnd::kNextStep);
  EXPECT_EQ(steps[2].end, PeriodEnd::kCompleted);
  EXPECT_EQ(steps[2].times.idle, 40'000);
  EXPECT_EQ(steps[2].times.computation, 60'000);
  EXPECT_EQ(steps[2].times.total, 100'000);
}

// Each step's collective runs 20 us into the next step.
TEST(StepPeriods, TheLastStepIsCutWhereTheWorkOfStepsOverlaps) {
  testing::SmallTrace small;
  for (int step = 0; step < 3; ++step) {
    small.annotation(fmt::format("ProfilerStep#{}", step + 1), Side::kCpu, 100 * step, 100);
    small.launch("gemm", 1, 100 * step, 90);
    small.launch("ncclDevKernel_AllReduce", 1, 100 * step + 50, 70);
  }
  model::Trace trace = small.read();
  for (std::size_t i = 1; i < trace.gpu_events.size(); i += 2)
    trace.gpu_events[i].stream = 9;
  const std::vector<StepPeriod> steps = periods_of(trace);
  EXPECT_THAT(lengths_us(steps), ElementsAre(100, 100, 100));
  EXPECT_EQ(steps[2].times.exposed_comm, 10'000);
}

TEST(StepPeriods, TheOnlyStepHasItsOwnWork) {
  const std::vector<StepPeriod> steps = periods_of(regular_steps(1).read());
  EXPECT_THAT(lengths_us(steps), ElementsAre(60));
  EXPECT_EQ(steps[0].end, PeriodEnd::kOwnWork);
  EXPECT_EQ(steps[0].wait_ns, std::nullopt);
}

TEST(StepPeriods, TheWaitBeforeAStepKnowsWorkThatIsNotCounted) {
  testing::SmallTrace small = regular_steps(2);
  small.leaked_kernel("warm-up", 900, 80);
  const std::vector<StepPeriod> steps = periods_of(small.read());
  EXPECT_EQ(steps[0].wait_ns, 30'000);
  EXPECT_EQ(steps[1].wait_ns, 40'000);
}

// Two kernels wait at the same time for 1000 us each: in a period of 1000 us, the mean queue is
// what these waits fill of it.
TEST(StepPeriods, LaunchesTellDelayAndQueue) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 400);
  small.annotation("ProfilerStep#2", Side::kCpu, 400, 400);
  small.launch("a", 1, 0, 300);
  small.launch("b", 1, 400, 300);
  const std::vector<StepPeriod> steps = periods_of(small.read());
  // `a` runs from 1000 to 1300, `b` from 1400 on; `b` waits from 400 on.
  EXPECT_DOUBLE_EQ(steps[0].launches.delay_ns, 1'000'000);
  EXPECT_DOUBLE_EQ(steps[0].launches.queue_length, 1);
  EXPECT_EQ(steps[0].launches.host_ns, 0);  // the GPU is idle, but `b` has been launched
  // It is completed by the launch of the step that would follow, as in the period before.
  EXPECT_DOUBLE_EQ(steps[1].launches.queue_length, 1);
}

TEST(StepPeriods, AnIdleGpuWithoutLaunchesWaitsForItsHost) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 5000);
  small.annotation("ProfilerStep#2", Side::kCpu, 5000, 5000);
  small.launch("a", 1, 0, 300);     // runs from 1000 to 1300
  small.launch("b", 1, 2000, 300);  // runs from 3000 to 3300
  small.launch("c", 1, 5000, 300);  // runs from 6000 to 6300
  const std::vector<StepPeriod> steps = periods_of(small.read());
  ASSERT_EQ(steps.size(), 2U);
  // 1300 to 2000 and 3300 to 5000.
  EXPECT_EQ(steps[0].launches.host_ns, 2'400'000);
  EXPECT_EQ(steps[0].times.idle, 4'400'000);
}

TEST(StepPeriods, TheSheetHasARowForEachStep) {
  const model::Trace trace = regular_steps(2).read();
  const model::Book book = individual_report(analyze_rank(trace, {}, 0));
  const model::Table* steps = book.find("steps");
  ASSERT_NE(steps, nullptr);
  ASSERT_EQ(steps->row_count(), 2U);
  const auto cell = [steps](std::size_t row, const char* column) {
    return steps->at(row, *steps->column(column));
  };
  EXPECT_EQ(model::number(cell(1, "period ms")), 0.1);
  EXPECT_EQ(model::text(cell(1, "period ends with")), "the usual wait");
  EXPECT_EQ(model::number(cell(0, "launch delay us")), 1000);
  // The compatible report names no steps.
  const model::Book compatible =
      individual_report(analyze_rank(trace, {.compat = Compat::kTraceLens}, 0));
  EXPECT_EQ(compatible.find("steps"), nullptr);
}

// The launches of the step that would follow wait within the last period, as those of every step
// do within the period before it.
TEST(StepPeriods, TheLastStepWaitsForItsHostAsLongAsThoseBefore) {
  testing::SmallTrace small;
  for (int step = 0; step < 3; ++step) {
    small.annotation(fmt::format("ProfilerStep#{}", step + 1), Side::kCpu, 5000 * step, 5000);
    small.launch("first", 1, 5000 * step, 300);         // from 1000 to 1300
    small.launch("second", 1, 5000 * step + 500, 300);  // from 1500 to 1800
  }
  const std::vector<StepPeriod> steps = periods_of(small.read());
  ASSERT_EQ(steps.size(), 3U);
  for (const StepPeriod& step : steps) {
    EXPECT_EQ(step.period.length(), 5'000'000);
    EXPECT_EQ(step.launches.host_ns, 3'200'000);  // from 1800 to 5000
    EXPECT_DOUBLE_EQ(step.launches.queue_length, 0.4);
    EXPECT_DOUBLE_EQ(step.launches.delay_ns, 1'000'000);
  }
}

TEST(StepPeriods, WorkWithoutALaunchRecordHasNoDelay) {
  testing::SmallTrace small = regular_steps(2);
  small.leaked_kernel("lost", 1075, 20);
  small.leaked_kernel("lost", 1175, 20);
  const std::vector<StepPeriod> steps = periods_of(small.read());
  EXPECT_TRUE(steps[0].launches.are_known);
  EXPECT_DOUBLE_EQ(steps[0].launches.delay_ns, 1'000'000);
  EXPECT_EQ(steps[0].times.computation, 80'000);
}

}  // namespace
}  // namespace assay::trace
