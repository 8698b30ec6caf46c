#include "trace/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "trace/analysis.h"
#include "trace/sheet.h"
#include "trace/sheets/steps_table.h"
#include "trace/small_trace_test_util.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

using Side = testing::SmallTrace::Side;

// Returns the lengths of the steps in microseconds.
std::vector<double> step_lengths_us(const RankAnalysis& rank) {
  std::vector<double> lengths;
  for (const Step& step : rank.steps)
    lengths.push_back(rank.time.microseconds(step.window.length()));
  return lengths;
}

bool has_warning(const RankAnalysis& rank, std::string_view reason, std::string_view effect = "") {
  const auto& all = rank.warnings.all();
  return std::any_of(all.begin(), all.end(), [&](const auto& w) {
    return w.reason == reason && (effect.empty() || w.effect == effect);
  });
}

// Two steps of 5 ms on the CPU that each launch 3 ms of work. ROCm ends the ranges of the steps on
// the GPU 16 us after they began.
testing::SmallTrace rocm_steps() {
  testing::SmallTrace small;
  for (const int step : {0, 1}) {
    const int start = 5000 * step;
    const std::string name = fmt::format("ProfilerStep#{}", step + 1);
    small.annotation(name, Side::kCpu, start, 5000);
    small.annotation(name, Side::kGpu, start + 1010, 16);
    small.op({.name = "aten::mm", .start = start + 5, .duration = 100});
    small.launch_by("hipExtModuleLaunchKernel", "Cijk_gemm", 1, start + 10, 3000);
  }
  return small;
}

TEST(Steps, TheWindowIsTheWorkThatTheyLaunched) {
  const model::Trace trace = rocm_steps().read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.total_time_us, 8000);
  EXPECT_EQ(timeline(busy_intervals(rank)).computation, 6'000'000);
  EXPECT_EQ(step_lengths_us(rank), (std::vector<double>{5000, 3000}));
}

TEST(Steps, SharesOfKernelsAreOfTheSameWindow) {
  const model::Trace trace = rocm_steps().read();
  const model::Book book = individual_report(analyze_rank(trace, {}, 0));
  const model::Table& kernels = *book.find("kernel_summary");
  ASSERT_EQ(kernels.row_count(), 1U);
  EXPECT_EQ(model::number(kernels.at(0, *kernels.column("Percent of total time (%)"))), 75);
}

TEST(Steps, TheOptimizerAfterTheLastRangeBelongsToItsStep) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 100);
  small.annotation("ProfilerStep#1", Side::kGpu, 1010, 60);
  small.launch("gemm", 1, 10, 60);
  small.launch("adam", 1, 90, 40);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.total_time_us, 120);
  EXPECT_EQ(timeline(busy_intervals(rank)).computation, 100'000);
}

TEST(Steps, OnTheCpuOnlyAddNoCpuTime) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 1'000'000);
  small.annotation("ProfilerStep#2", Side::kCpu, 1'000'000, 13'000'000);
  small.launch("fill", 1, 1'000'010, 2);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.total_time_us, 2);
  EXPECT_EQ(step_lengths_us(rank), std::vector<double>{2});
}

// The first step's broadcast outlasts the second step's work.
TEST(Steps, TileTheWindow) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 100);
  small.annotation("ProfilerStep#2", Side::kCpu, 100, 100);
  small.launch("gemm", 1, 10, 50);
  small.launch("ncclDevKernel_Broadcast", 1, 60, 200);
  small.launch("gemm", 1, 110, 50);
  model::Trace trace = small.read();
  trace.gpu_events[1].stream = 9;
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.total_time_us, 250);
  const std::vector<double> lengths = step_lengths_us(rank);
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), 0.0), rank.total_time_us);
  ASSERT_EQ(rank.steps.size(), 2U);
  EXPECT_EQ(rank.steps[0].window.end, rank.steps[1].window.start);
}

// Without calls of the steps, the start of a kernel tells its step. A range on another stream does
// not begin the step anew.
TEST(Steps, OnTheGpuOnlyOwnTheWorkThatStartsInThem) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kGpu, 1100, 16);
  small.annotation("ProfilerStep#2", Side::kGpu, 1200, 16);
  small.annotation("ProfilerStep#1", Side::kGpu, 1230, 16);
  small.launch("before", 1, 0, 20);
  small.launch("a", 1, 100, 80);
  small.launch("b", 1, 200, 20);
  small.launch("c", 1, 240, 30);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.excluded.outside.kernels, 1);
  EXPECT_EQ(rank.total_time_us, 170);
  EXPECT_EQ(step_lengths_us(rank), (std::vector<double>{100, 70}));
  EXPECT_TRUE(has_warning(rank, "ProfilerStep annotations on the GPU only"));
}

TEST(Steps, ThatLaunchNothingLeaveNothingToCount) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 100, 10);
  small.launch("k", 1, 10, 20);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.total_time_us, 0);
  EXPECT_EQ(rank.excluded.outside.kernels, 1);
  EXPECT_FALSE(has_warning(rank, "no ProfilerStep annotations"));
}

// Returns three steps of 5 ms, of which the second lost its launch records.
testing::SmallTrace lost_second_step(bool with_range) {
  testing::SmallTrace small;
  for (const int step : {0, 1, 2}) {
    const int start = 5000 * step;
    const std::string name = fmt::format("ProfilerStep#{}", step + 1);
    small.annotation(name, Side::kCpu, start, 5000);
    if (with_range) small.annotation(name, Side::kGpu, start + 1010, 16);
    if (step == 1)
      small.leaked_kernel("gemm", start + 1010, 3000);
    else
      small.launch("gemm", 1, start + 10, 3000);
  }
  return small;
}

TEST(Steps, AStepWithoutLaunchRecordsIsCutByItsRangeOnTheGpu) {
  const model::Trace trace = lost_second_step(true).read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(step_lengths_us(rank), (std::vector<double>{5000, 5000, 3000}));
  EXPECT_EQ(rank.steps[1].number, 2);
  EXPECT_EQ(rank.time.microseconds(rank.steps[0].work_end - rank.steps[0].window.start), 3000);
  EXPECT_TRUE(has_warning(rank, "profiled steps whose launch records are all missing",
                          "their ranges on the GPU tell their work"));
}

TEST(Steps, WithoutCallsAndRangesWorkCountsByWhenItRan) {
  testing::SmallTrace small;
  for (const int step : {0, 1}) {
    small.annotation(fmt::format("ProfilerStep#{}", step + 1), Side::kCpu, 5000 * step, 5000);
    small.leaked_kernel("gemm", 5000 * step + 1010, 3000);
  }
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  ASSERT_EQ(rank.steps.size(), 2U);
  EXPECT_TRUE(has_warning(rank, "profiled steps whose launch records are all missing",
                          "their work is told by when it ran, so some may be of the step before"));
}

TEST(Steps, AStepWithoutLaunchRecordsAndRangeIsTold) {
  const model::Trace trace = lost_second_step(false).read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(step_lengths_us(rank), (std::vector<double>{10000, 3000}));
  EXPECT_TRUE(rank.steps[0].may_hold_next);
  EXPECT_FALSE(rank.steps[1].may_hold_next);
  const model::Table steps = steps_table(rank, busy_intervals(rank));
  EXPECT_EQ(model::text(steps.at(0, *steps.column(kEndColumn))), kHoldsNext);
  EXPECT_TRUE(
      has_warning(rank, "profiled steps without launch records and without a range on the GPU"));
}

// The work of steps 1 and 2 counts in step 0, while step 4 launched nothing and nothing ran since.
TEST(Steps, OnlyTheStepBeforeLostOnesMayHoldTheirWork) {
  testing::SmallTrace small;
  for (const int step : {0, 1, 2, 3, 4}) {
    const int start = 5000 * step;
    small.annotation(fmt::format("ProfilerStep#{}", step), Side::kCpu, start, 5000);
    if (step == 1 || step == 2) small.leaked_kernel("gemm", start + 1010, 3000);
    if (step == 0 || step == 3) small.launch("gemm", 1, start + 10, 3000);
  }
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  ASSERT_EQ(rank.steps.size(), 2U);
  EXPECT_TRUE(rank.steps[0].may_hold_next);
  EXPECT_FALSE(rank.steps[1].may_hold_next);
  const auto& all = rank.warnings.all();
  const auto told = std::find_if(all.begin(), all.end(), [](const auto& warning) {
    return warning.reason == "profiled steps without launch records and without a range on the GPU";
  });
  ASSERT_NE(told, all.end());
  EXPECT_EQ(told->count, 2);
}

TEST(Steps, NumbersAreReadFromTheirNames) {
  EXPECT_EQ(profiler_step_number("ProfilerStep#12"), 12);
  EXPECT_EQ(profiler_step_number("ProfilerStep#"), std::nullopt);
  EXPECT_EQ(profiler_step_number("ProfilerStep#1x"), std::nullopt);
  EXPECT_EQ(profiler_step_number("Optimizer.step"), std::nullopt);
}

}  // namespace
}  // namespace assay::trace
