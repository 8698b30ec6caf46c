#include "trace/unlinked_work.h"

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

// Returns, by event, "leaked" or what launched the linked work before.
std::string told(const model::Trace& trace) {
  const CallTree tree = build_call_tree(trace);
  std::string text;
  for (const UnlinkedWork& work : find_unlinked_work(trace, tree)) {
    const model::GpuEvent& event = trace.gpu_events[work.event];
    text += std::string(trace.text(event.name)) + ": ";
    if (work.is_leaked)
      text += "leaked; ";
    else if (work.call_before == kNoNode)
      text += "unknown; ";
    else
      text += std::to_string(node_start_ns(trace, tree.nodes[work.call_before]) / 1000) + "; ";
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

}  // namespace
}  // namespace assay::trace
