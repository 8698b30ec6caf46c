#include "trace/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/sheet.h"
#include "trace/small_trace_test_util.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

using Side = testing::SmallTrace::Side;

// Two steps of 100 us: computation, then communication half hidden behind more computation. A
// kernel launched at t runs on the GPU at t + 1000. A leaked kernel runs before the steps and a
// stray one after them.
testing::SmallTrace two_steps() {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#3", Side::kCpu, 0, 100);
  small.annotation("ProfilerStep#4", Side::kCpu, 100, 100);
  small.annotation("ProfilerStep#3", Side::kGpu, 1010, 80);
  small.annotation("ProfilerStep#4", Side::kGpu, 1110, 80);
  small.leaked_kernel("old", 900, 150);
  for (const int start : {10, 110}) {
    small.op({.name = "aten::mm", .start = start - 1, .duration = 70});
    small.launch("gemm", 1, start, 40);
    small.launch("ncclDevKernel_AllReduce", 1, start + 40, 30);
    small.launch("gemm", 1, start + 55, 25);
  }
  small.launch("stray", 1, 300, 7);
  return small;
}

double column_sum(const model::Table& table, std::string_view column) {
  double sum = 0;
  for (std::size_t row = 0; row < table.row_count(); ++row)
    sum += model::number(table.at(row, *table.column(column)));
  return sum;
}

TEST(Analysis, CountsTheWorkOfTheStepsOnly) {
  const model::Trace trace = two_steps().read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.excluded.leaked.kernels, 1);
  EXPECT_EQ(rank.time.microseconds(rank.excluded.leaked.ticks), 150);
  EXPECT_EQ(rank.excluded.outside.kernels, 1);
  EXPECT_EQ(rank.total_time_us, 180);

  const Timeline times = timeline(busy_intervals(rank));
  EXPECT_EQ(times.computation, 130'000);
  EXPECT_EQ(times.total_comm, 60'000);
  EXPECT_EQ(times.exposed_comm, 30'000);
  EXPECT_EQ(times.busy + times.idle, times.total);
  EXPECT_EQ(times.computation + times.exposed_comm + times.exposed_memcpy + times.idle,
            times.total);
}

TEST(Analysis, GpusThatShareATraceAreTold) {
  const auto warnings_of = [](int second_device) {
    testing::SmallTrace small;
    small.replay("cudaLaunchKernel", 1, 10, {{"gemm", 40}});
    small.replay("cudaLaunchKernel", 1, 60, {{"gemm", 40, second_device}});
    const model::Trace trace = small.read();
    const RankAnalysis rank = analyze_rank(trace, {}, 3);
    std::string all;
    for (const model::Warning& warning : rank.warnings.all())
      all += warning.sentence() + "\n";
    return all;
  };
  EXPECT_THAT(warnings_of(1), ::testing::HasSubstr("several GPUs"));
  EXPECT_THAT(warnings_of(1), ::testing::HasSubstr("rank 3: GPUs 0, 1"));
  EXPECT_THAT(warnings_of(0), ::testing::Not(::testing::HasSubstr("several GPUs")));
}

TEST(Analysis, StepsLeaveNoTimeOut) {
  const model::Trace trace = two_steps().read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  ASSERT_EQ(rank.steps.size(), 2U);
  EXPECT_EQ(rank.steps[0].number, 3);
  EXPECT_EQ(rank.steps[0].window.end, rank.steps[1].window.start);
  EXPECT_EQ(rank.time.microseconds(rank.steps[0].window.length()), 100);
  EXPECT_EQ(rank.time.microseconds(rank.steps[1].window.length()), 80);
}

TEST(Analysis, WithoutStepsAllLaunchedWorkCounts) {
  testing::SmallTrace small;
  small.leaked_kernel("old", 0, 50);
  small.launch("a", 1, 0, 10);
  small.launch("b", 1, 30, 10);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_TRUE(rank.steps.empty());
  EXPECT_EQ(rank.total_time_us, 40);
  bool warned = false;
  for (const model::Warning& w : rank.warnings.all()) {
    warned = warned || w.reason == "no ProfilerStep annotations";
  }
  EXPECT_TRUE(warned);
}

TEST(Analysis, CompatCountsWhatThePublicToolCounts) {
  const model::Trace trace = two_steps().read();
  Options options{.compat = Compat::kTraceLens};
  EXPECT_EQ(analyze_rank(trace, options, 0).total_time_us, 297);  // 1010 to 1307
  options.include_unlinked = true;
  EXPECT_EQ(analyze_rank(trace, options, 0).total_time_us, 407);  // 900 to 1307
}

TEST(Analysis, ACorruptEndIsCutAtTheNextKernelOfTheStream) {
  testing::SmallTrace small;
  small.launch("corrupt", 1, 0, 1'000'000);
  small.launch("next", 1, 50, 10);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.total_time_us, 60);
  ASSERT_FALSE(rank.warnings.empty());
  EXPECT_EQ(rank.warnings.all()[0].count, 1);
}

TEST(Analysis, AnEventRecordedTwiceCountsOnce) {
  testing::SmallTrace small;
  small.op({.name = "aten::mm", .start = 0, .duration = 50});
  small.launch("k", 1, 10, 20);
  model::Trace trace = small.read();
  trace.gpu_events.push_back(trace.gpu_events[0]);
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  ASSERT_EQ(rank.launchers.size(), 1U);
  EXPECT_EQ(rank.launchers[0].kernels.size(), 1U);
  EXPECT_EQ(rank.warnings.all()[0].reason, "GPU event recorded twice");
  EXPECT_EQ(analyze_rank(trace, {.compat = Compat::kTraceLens}, 0).launchers[0].kernels.size(), 2U);
}

TEST(Analysis, ACorruptEndIsCutInEverySheet) {
  testing::SmallTrace small;
  small.op({.name = "aten::mm", .start = 0, .duration = 100});
  small.launch("corrupt", 1, 0, 1'000'000);
  small.launch("next", 1, 50, 10);
  const model::Trace trace = small.read();
  const model::Book book = individual_report(analyze_rank(trace, {.short_kernel_us = 51}, 0));
  const model::Table& kernels = *book.find("kernel_summary");
  EXPECT_EQ(column_sum(kernels, "Kernel duration (µs)_sum"), 60);
  EXPECT_EQ(column_sum(kernels, "Percent of total time (%)"), 100);
  EXPECT_EQ(column_sum(*book.find("short_kernels_summary"), "Short Kernel duration (µs) sum"), 60);
  const model::Table& operators = *book.find("ops_unique_args");
  EXPECT_THAT(model::text(operators.at(0, *operators.column("kernel_details_summary"))),
              ::testing::HasSubstr("'total_duration_us': 50"));
}

TEST(Analysis, NoGpuEventsIsAWarningNotAFailure) {
  testing::SmallTrace small;
  small.op({.name = "aten::add", .start = 0, .duration = 10});
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  const model::Book book = individual_report(rank);
  EXPECT_EQ(book.find("gpu_timeline"), nullptr);
  ASSERT_NE(book.find("warnings"), nullptr);
  EXPECT_EQ(model::text(book.find("warnings")->at(0, 0)), "no GPU events");
}

TEST(Analysis, DispatchAndCombineOfExpertsAreCommunication) {
  testing::SmallTrace small;
  small.op({.name = "aten::mm", .start = 0, .duration = 50});
  small.launch("nvjet_sm90_tst_256x128", 1, 0, 10);
  small.launch("void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)", 1, 20, 60);
  small.launch("EpCombineInterNodeV1Kernel_bf16", 1, 90, 50);
  const model::Trace trace = small.read();
  const auto communication_us = [&](Compat compat) {
    const RankAnalysis rank = analyze_rank(trace, {.compat = compat}, 0);
    return rank.time.microseconds(timeline(busy_intervals(rank)).total_comm);
  };
  EXPECT_EQ(communication_us(Compat::kNone), 110);
  EXPECT_EQ(communication_us(Compat::kTraceLens), 0);
}

std::string warnings_of(const RankAnalysis& rank) {
  std::string all;
  for (const model::Warning& warning : rank.warnings.all())
    all += warning.sentence() + "\n";
  return all;
}

// A kernel that runs between launched ones did not leak from before the profile.
TEST(Analysis, WorkWhoseLaunchRecordIsMissingIsBusyTime) {
  testing::SmallTrace small = two_steps();
  small.leaked_kernel("flash", 1085, 20);  // between the steps' work, behind that of step 3
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.excluded.leaked.kernels, 1);
  ASSERT_EQ(rank.steps.size(), 2U);
  EXPECT_EQ(rank.time.microseconds(rank.steps[0].work_end - rank.steps[0].window.start), 95);
  EXPECT_EQ(timeline(busy_intervals(rank)).computation, 145'000);
  EXPECT_EQ(timeline(busy_intervals(rank)).idle, 5'000);
  EXPECT_THAT(
      warnings_of(rank),
      ::testing::HasSubstr("kernels, copies and fills whose launch record is missing: counted"));
  EXPECT_THAT(warnings_of(rank), ::testing::HasSubstr("0.020 ms of GPU work in all (rank 0)"));

  Options options{.compat = Compat::kTraceLens};
  const RankAnalysis compatible = analyze_rank(trace, options, 0);
  EXPECT_EQ(compatible.total_time_us, 297);  // as without it
  EXPECT_THAT(warnings_of(compatible), ::testing::HasSubstr("not counted"));
}

TEST(Analysis, WithoutCallsThePublicToolsFiguresAreMissingNotZero) {
  testing::SmallTrace small;
  small.leaked_kernel("gemm", 900, 50);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {.compat = Compat::kTraceLens}, 0);
  EXPECT_THAT(warnings_of(rank),
              ::testing::HasSubstr("gpu_timeline and shares of its time are missing; "
                                   "--include-unlinked counts them"));
  const model::Book book = individual_report(rank);
  EXPECT_EQ(book.find("gpu_timeline"), nullptr);
  const model::Table& kernels = *book.find("kernel_summary");
  EXPECT_EQ(kernels.at(0, *kernels.column("Percent of total time (%)")), model::Cell());
  EXPECT_EQ(model::number(kernels.at(0, *kernels.column("Percent of kernels time (%)"))), 100);
}

TEST(Analysis, ATraceWithoutCallsIsReportedForWhatItHas) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kGpu, 900, 60);
  small.annotation("ProfilerStep#2", Side::kGpu, 1000, 60);
  small.leaked_kernel("gemm", 900, 50);
  small.leaked_kernel("gemm", 1000, 50);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(rank.excluded.leaked.kernels, 0);
  EXPECT_EQ(rank.total_time_us, 150);
  EXPECT_EQ(rank.steps.size(), 2U);
  EXPECT_THAT(warnings_of(rank), ::testing::HasSubstr("in a trace without launch records, 2"));
  const model::Book book = individual_report(rank);
  const model::Table& steps = *book.find("steps");
  for (const char* unknown : {"host-bound ms", "host-bound %", "launch delay us", "queue length"})
    EXPECT_EQ(model::text(steps.at(0, *steps.column(unknown))), "") << unknown;
  EXPECT_EQ(column_sum(*book.find("kernel_summary"), "Kernel duration (µs)_sum"), 100);
}

}  // namespace
}  // namespace assay::trace
