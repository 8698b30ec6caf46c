#include "trace/call_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(const model::Trace& trace, std::span<const std::uint32_t> events) {
  std::vector<std::string> result;
  for (const std::uint32_t event : events) {
    result.emplace_back(trace.text(trace.gpu_events[event].name));
  }
  return result;
}

NodeId node_named(const model::Trace& trace, const CallTree& tree, std::string_view name) {
  for (NodeId id = 0; id < tree.node_count(); ++id) {
    if (trace.text(node_name(trace, tree.nodes[id])) == name) return id;
  }
  return kNoNode;
}

TEST(CallTree, SubtreesHoldTheWorkOfAllCallsBelow) {
  testing::SmallTrace small;
  small.op({.name = "outer", .start = 0, .duration = 100});
  small.op({.name = "inner", .start = 10, .duration = 40});
  small.launch("a", 1, 20, 5);
  small.launch("b", 1, 60, 5);
  small.op({.name = "other", .start = 200, .duration = 10});
  small.launch("c", 1, 201, 5);
  const model::Trace trace = small.read();
  const CallTree tree = build_call_tree(trace);
  const auto below = [&](std::string_view name) {
    return names(trace, tree.gpu_events_below(node_named(trace, tree, name)));
  };
  EXPECT_THAT(below("outer"), ElementsAre("a", "b"));
  EXPECT_THAT(below("inner"), ElementsAre("a"));
  EXPECT_THAT(below("other"), ElementsAre("c"));
  EXPECT_EQ(tree.nodes[node_named(trace, tree, "inner")].parent, node_named(trace, tree, "outer"));
}

TEST(CallTree, ThreadsDoNotNestInEachOther) {
  testing::SmallTrace small;
  small.op({.name = "main", .thread = 1, .start = 0, .duration = 100});
  small.op({.name = "backward", .thread = 2, .start = 10, .duration = 50});
  small.launch("k", 2, 20, 5);
  const model::Trace trace = small.read();
  const CallTree tree = build_call_tree(trace);
  EXPECT_EQ(tree.nodes[node_named(trace, tree, "backward")].parent, kNoNode);
  EXPECT_TRUE(tree.gpu_events_below(node_named(trace, tree, "main")).empty());
}

// A call that ends after its caller becomes a root, so that its kernels are not lost.
TEST(CallTree, ACallThatOutlastsItsCallerKeepsItsKernels) {
  testing::SmallTrace small;
  small.op({.name = "caller", .start = 0, .duration = 50});
  small.op({.name = "bleeding", .start = 40, .duration = 30});
  small.launch("k", 1, 60, 5);
  const model::Trace trace = small.read();
  const CallTree tree = build_call_tree(trace);
  EXPECT_EQ(tree.bleeding_calls, 1);
  EXPECT_TRUE(tree.gpu_events_below(node_named(trace, tree, "caller")).empty());
  EXPECT_EQ(tree.gpu_events.size(), 1U);
  EXPECT_NE(tree.launched_by[0], kNoNode);
}

TEST(CallTree, LeakedKernelsHaveNoCall) {
  testing::SmallTrace small;
  small.leaked_kernel("old", 0, 10);
  small.launch("new", 1, 20, 5);
  const model::Trace trace = small.read();
  const CallTree tree = build_call_tree(trace);
  EXPECT_EQ(tree.launched_by[0], kNoNode);
  EXPECT_EQ(tree.gpu_events.size(), 1U);
}

TEST(Launchers, AreTheNearestOperatorOrTheCallItself) {
  testing::SmallTrace small;
  small.op({.name = "aten::mm", .start = 0, .duration = 50});
  small.op({.name = "execute", .start = 5, .duration = 40});
  small.launch("k", 1, 10, 5);
  small.launch_by("cudaGraphLaunch", "g", 1, 100, 5);
  const model::Trace trace = small.read();
  const CallTree tree = build_call_tree(trace);
  const auto launcher = [&](std::size_t event) {
    return trace.text(
        node_name(trace, tree.nodes[launcher_of(trace, tree, tree.launched_by[event])]));
  };
  EXPECT_EQ(launcher(0), "aten::mm");
  EXPECT_EQ(launcher(1), "cudaGraphLaunch");
}

}  // namespace
}  // namespace assay::trace
