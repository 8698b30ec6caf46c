#include "trace/unlinked_work.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

// Kernels with launch records run from 1010 and 1110 on.
testing::SmallTrace two_launches() {
  testing::SmallTrace small;
  small.launch("first", 1, 10, 40);
  small.launch("second", 1, 110, 40);
  return small;
}

// Returns, by event, "leaked" or the time before which no call launched it.
std::string told(const model::Trace& trace) {
  const CallTree tree = build_call_tree(trace);
  std::string text;
  for (const UnlinkedWork& work : find_unlinked_work(trace, tree)) {
    const model::GpuEvent& event = trace.gpu_events[work.event];
    text += std::string(trace.text(event.name)) + ": ";
    if (work.is_leaked)
      text += "leaked; ";
    else if (!work.launched_after_ns)
      text += "unknown; ";
    else
      text += std::to_string(*work.launched_after_ns / 1000) + "; ";
  }
  return text;
}

TEST(UnlinkedWork, WithLaunchRecordsThereIsNone) {
  EXPECT_EQ(told(two_launches().read()), "");
}

TEST(UnlinkedWork, WorkLeaksBeforeTheFirstLinkedWorkOfItsStreamOnly) {
  testing::SmallTrace small = two_launches();
  small.leaked_kernel("before", 900, 50);
  small.leaked_kernel("between", 1060, 20);
  small.leaked_kernel("behind", 1200, 20);
  EXPECT_EQ(told(small.read()), "before: leaked; between: 10; behind: 110; ");
}

TEST(UnlinkedWork, AStreamWithoutLinkedWorkTakesThatOfTheTrace) {
  testing::SmallTrace small = two_launches();
  small.leaked_kernel("before", 900, 50);
  small.leaked_kernel("between", 1060, 20);
  model::Trace trace = small.read();
  for (model::GpuEvent& event : trace.gpu_events)
    if (trace.text(event.name) != "first" && trace.text(event.name) != "second") event.stream = 9;
  EXPECT_EQ(told(trace), "before: leaked; between: 10; ");
}

TEST(UnlinkedWork, WithoutAnyCallNothingIsKnown) {
  testing::SmallTrace small;
  small.leaked_kernel("gemm", 900, 50);
  EXPECT_EQ(told(small.read()), "gemm: unknown; ");
}

TEST(UnlinkedWork, CallsThatLaunchedNoneOfItTellThatItLeaked) {
  testing::SmallTrace small;
  small.leaked_kernel("gemm", 900, 50);
  small.launch("late", 1, 10, 40);
  model::Trace trace = small.read();
  trace.gpu_events.pop_back();
  EXPECT_EQ(told(trace), "gemm: leaked; ");
}

// Step 2 lost both of its launches; ranges of steps 1 to 3 are on stream 7.
testing::SmallTrace step_without_launches() {
  testing::SmallTrace small;
  for (const int step : {1, 2, 3}) {
    const std::string name = fmt::format("ProfilerStep#{}", step);
    small.annotation(name, testing::SmallTrace::Side::kCpu, 100 * step, 100);
    small.annotation(name, testing::SmallTrace::Side::kGpu, 100 * step + 1010, 16);
    if (step == 2) continue;
    small.launch("gemm", 1, 100 * step + 10, 40);
    small.launch("adam", 1, 100 * step + 60, 20);
  }
  small.leaked_kernel("lost gemm", 1210, 40);
  small.leaked_kernel("lost adam", 1260, 20);
  return small;
}

TEST(UnlinkedWork, TheRangeOfAStepOnTheGpuTellsWhatItLaunched) {
  testing::SmallTrace small = step_without_launches();
  small.leaked_kernel("before", 1200, 5);
  EXPECT_EQ(told(small.read()), "lost gemm: 200; lost adam: 200; before: 160; ");
}

// Ranges are of a stream. Only that of a step without launches tells of other streams.
TEST(UnlinkedWork, ARangeTellsOfItsStream) {
  testing::SmallTrace small = step_without_launches();
  small.leaked_kernel("copy", 1320, 5);
  model::Trace trace = small.read();
  for (model::GpuEvent& event : trace.gpu_events)
    if (trace.text(event.name) == "copy" || trace.text(event.name) == "lost adam")
      event.track = model::TrackId(-1);
  EXPECT_EQ(told(trace), "lost gemm: 200; lost adam: 200; copy: 310; ");
}

// Neither file nor CPU has the steps in the order in which their ranges began.
TEST(UnlinkedWork, TheLatestStepWhoseRangeBeganTells) {
  testing::SmallTrace small;
  small.launch("gemm", 1, 10, 40);
  for (const int step : {3, 1, 2}) {
    const std::string name = fmt::format("ProfilerStep#{}", step);
    small.annotation(name, testing::SmallTrace::Side::kCpu, 100 * step, 100);
    small.annotation(name, testing::SmallTrace::Side::kGpu, step == 2 ? 1400 : 1000 + 100 * step,
                     16);
  }
  small.leaked_kernel("in 1", 1100, 20);
  small.leaked_kernel("still in 1", 1299, 1);
  small.leaked_kernel("in 3", 1300, 20);
  small.leaked_kernel("behind the late range of 2", 1500, 20);
  EXPECT_EQ(told(small.read()),
            "in 1: 100; still in 1: 100; in 3: 300; behind the late range of 2: 300; ");
}

TEST(UnlinkedWork, WhatRunsAfterARangeBeganDidNotLeak) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", testing::SmallTrace::Side::kCpu, 100, 100);
  small.annotation("ProfilerStep#2", testing::SmallTrace::Side::kCpu, 200, 100);
  small.annotation("ProfilerStep#1", testing::SmallTrace::Side::kGpu, 1110, 16);
  small.leaked_kernel("before", 1000, 40);
  small.leaked_kernel("lost", 1110, 40);
  small.launch("gemm", 1, 210, 40);
  EXPECT_EQ(told(small.read()), "before: leaked; lost: 100; ");
}

}  // namespace
}  // namespace assay::trace
