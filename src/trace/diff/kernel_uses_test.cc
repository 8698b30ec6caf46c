#include "trace/diff/kernel_uses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "trace/path/simulated_run_test_util.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using Side = testing::SmallTrace::Side;

// Two steps, each of which multiplies twice in a module.
testing::SmallTrace two_steps() {
  testing::SmallTrace small;
  for (const int start : {0, 1000}) {
    small.annotation(start == 0 ? "ProfilerStep#1" : "ProfilerStep#2", Side::kCpu, start, 1000);
    small.python("nn.Module: Linear_0", 1, start + 5, 500);
    for (const int op : {10, 210}) {
      small.op({.name = "aten::linear", .start = start + op, .duration = 100});
      small.op({.name = "aten::mm",
                .start = start + op + 10,
                .duration = 50,
                .arguments = R"("Input Dims": [[4, 4], [4, 4]])"});
      small.launch("gemm", 1, start + op + 20, op == 10 ? 30 : 50);
    }
  }
  return small;
}

TEST(KernelUses, AreMeansOverSteps) {
  const model::Trace trace = two_steps().read();
  std::vector<RankAnalysis> ranks;
  ranks.push_back(analyze_rank(trace, {}, 0));
  EXPECT_EQ(common_path_kind(ranks, ranks), PathKind::kModules);
  const auto uses = kernel_uses(ranks, PathKind::kModules, {1, 2});
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].key.path, "Linear_0");
  EXPECT_EQ(uses[0].key.operation, "aten::mm");
  EXPECT_EQ(uses[0].key.shapes, "[[4, 4], [4, 4]]");
  EXPECT_EQ(uses[0].key.kernel, "gemm");
  EXPECT_EQ(uses[0].calls, 2);
  EXPECT_EQ(uses[0].time_us, 80);
  EXPECT_EQ(uses[0].samples, 4);
  EXPECT_NEAR(uses[0].deviation_us, 11.547, 0.001);
}

TEST(KernelUses, AreThoseOfTheStepsThatCount) {
  testing::SmallTrace small = two_steps();
  small.annotation("ProfilerStep#3", Side::kCpu, 2000, 1000);
  small.launch("warm_up", 1, 2100, 500);
  const model::Trace trace = small.read();
  std::vector<RankAnalysis> ranks;
  ranks.push_back(analyze_rank(trace, {}, 0));
  EXPECT_EQ(kernel_uses(ranks, PathKind::kModules, {1, 2}).size(), 1U);
  const auto third = kernel_uses(ranks, PathKind::kModules, {3});
  ASSERT_EQ(third.size(), 1U);
  EXPECT_EQ(third[0].key.kernel, "warm_up");
  EXPECT_EQ(third[0].calls, 1);
}

TEST(KernelUses, HaveTheCallsAboveThemAsPath) {
  const model::Trace trace = two_steps().read();
  std::vector<RankAnalysis> ranks;
  ranks.push_back(analyze_rank(trace, {}, 0));
  const auto uses = kernel_uses(ranks, PathKind::kCalls, {1, 2});
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].key.path, "aten::linear/aten::mm");
}

TEST(KernelUses, OfAReplayedGraphAreToldByTheirGrid) {
  testing::SmallTrace small;
  small.replay("cudaGraphLaunch", 1, 10, {{"a", 5}, {"a", 7}});
  model::Trace trace = small.read();
  trace.gpu_events[0].grid = {8, 1, 1};
  trace.gpu_events[1].grid = {16, 1, 1};
  std::vector<RankAnalysis> ranks;
  ranks.push_back(analyze_rank(trace, {}, 0));
  const auto uses = kernel_uses(ranks, PathKind::kCalls, {1, 2});
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].key.operation, "cudaGraphLaunch");
  EXPECT_EQ(uses[0].key.shapes, "grid 16 x 1 x 1");
  EXPECT_EQ(uses[1].key.shapes, "grid 8 x 1 x 1");
}

// Two ranks of which the second one comes 40 us late to collectives of 100 us, and 50 ms late, when
// the first one has left, to some that so have no match.
std::vector<KernelUse> uses_with_unmatched(int matched, int unmatched) {
  path::testing::SimulatedRun run(2);
  run.begin_step(1);
  for (int i = 0; i < matched; ++i) {
    run.kernel("gemm", {300, 340});
    run.collective({}, 100, path::testing::SimulatedRun::kCompute);
  }
  for (int i = 0; i < unmatched; ++i) {
    run.delay_host(1, 50'000);
    run.kernel_with_message("ncclDevKernel_allreduce", {}, 150);
  }
  auto uses = kernel_uses(run.ranks(), PathKind::kCalls, {1});
  std::erase_if(uses, [](const KernelUse& use) { return use.work != GpuWork::kCommunication; });
  return uses;
}

TEST(KernelUses, FewCallsWithoutAMatchWaitAsTheOthersLeaveIt) {
  const auto uses = uses_with_unmatched(19, 1);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].calls, 20);
  EXPECT_NEAR(uses[0].time_us, 19 * 120 + 150, 1);
  EXPECT_NEAR(uses[0].own_us(), 100, 0.1);
  EXPECT_NEAR(uses[0].deviation_us, 0, 0.1);
}

TEST(KernelUses, ManyCallsWithoutAMatchLeaveWaitsUnknown) {
  const auto uses = uses_with_unmatched(8, 2);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].calls, 10);
  EXPECT_TRUE(std::isnan(uses[0].wait_us));
}

}  // namespace
}  // namespace assay::trace
