#include "trace/diff/diff_book.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "trace/path/simulated_run_test_util.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using Side = testing::SmallTrace::Side;
using path::testing::SimulatedRun;

struct Layer {
  std::string gemm = "gemm_a";
  int gemm_us = 30;
  bool norm = true;
};

// One step of a model of three layers, each of which multiplies and, perhaps, normalizes.
model::Trace model_of(const Layer& layer, bool wrapped = false) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 1000);
  if (wrapped) small.python("nn.Module: Wrapper_0", 1, 0, 990);
  small.python("nn.Module: Model_0", 1, 1, 980);
  for (int i = 0; i < 3; ++i) {
    const int start = 10 + 300 * i;
    small.python(fmt::format("nn.Module: Layer_{}", i), 1, start, 200);
    small.op({.name = "aten::mm",
              .start = start + 5,
              .duration = 50,
              .arguments = R"("Input Dims": [[4, 4], [4, 4]])"});
    small.launch(layer.gemm, 1, start + 10, layer.gemm_us);
    if (!layer.norm) continue;
    small.op({.name = "aten::layer_norm", .start = start + 100, .duration = 50});
    small.launch("norm", 1, start + 110, 7);
  }
  return small.read();
}

TraceDiff diff_of(const model::Trace& before, const model::Trace& after) {
  std::vector<RankAnalysis> baseline;
  std::vector<RankAnalysis> test;
  baseline.push_back(analyze_rank(before, {}, 0));
  test.push_back(analyze_rank(after, {}, 0));
  return trace_diff({"old", baseline}, {"new", test}, {});
}

std::string cell(const TraceDiff& diff,
                 std::string_view table,
                 std::size_t row,
                 std::string_view column) {
  const model::Table* found = diff.book.find(table);
  return model::text(found->at(row, *found->column(column)));
}

TEST(TraceDiff, TellsWhatReplacedWhat) {
  const model::Trace before = model_of({});
  const model::Trace after = model_of({.gemm = "gemm_b", .gemm_us = 50});
  const TraceDiff diff = diff_of(before, after);
  EXPECT_EQ(diff.answer,
            "new takes 0.707 ms a step, as long as old; its kernels, which may overlap, take "
            "0.06 ms more in all: +0.06 ms gemm_a replaced by gemm_b.");
  ASSERT_EQ(diff.book.find("kernel_diff")->row_count(), 6U);
  EXPECT_EQ(cell(diff, "kernel_diff", 0, "change"), "replaced");
  EXPECT_EQ(cell(diff, "kernel_diff", 0, "old kernel"), "gemm_a");
  EXPECT_EQ(cell(diff, "kernel_diff", 0, "new shapes"), "[[4, 4], [4, 4]]");
  ASSERT_EQ(diff.for_terminal.row_count(), 1U);
  EXPECT_EQ(cell(diff, "kernel_diff_summary", 0, "rows"), "3");
  EXPECT_EQ(cell(diff, "kernel_diff_summary", 0, "path"), "Model/Layer");
}

TEST(TraceDiff, NamesOfCopiesAreWhole) {
  const model::Trace before = model_of({.gemm = "Memcpy HtoD (Pageable -> Device)"});
  const model::Trace after = model_of({.gemm = "Memcpy HtoD (Pinned -> Device)", .gemm_us = 20});
  EXPECT_EQ(diff_of(before, after).answer,
            "new takes 0.707 ms a step, as long as old; its kernels, which may overlap, take "
            "0.03 ms less in all: -0.03 ms Memcpy HtoD (Pageable -> Device) replaced by Memcpy "
            "HtoD (Pinned -> Device).");
  const model::Trace arrow =
      model_of({.gemm = "void run<decltype(auto (x)->int)>(float*)", .gemm_us = 20});
  EXPECT_TRUE(diff_of(before, arrow).answer.ends_with("(Pageable -> Device) replaced by run."));
}

// Steps of 100 us in which a kernel takes 30: the wait behind the last one is not in the trace.
TEST(TraceDiff, AStepLastsUntilTheNext) {
  testing::SmallTrace small;
  for (int step = 0; step < 4; ++step) {
    small.annotation(fmt::format("ProfilerStep#{}", step), Side::kCpu, 100 * step, 100);
    small.launch("gemm", 1, 100 * step + 5, 30);
  }
  const model::Trace trace = small.read();
  EXPECT_EQ(diff_of(trace, trace).answer,
            "new takes 0.1 ms a step, as long as old; no kernel differs.");
  // Beside a trace of one step, whose wait nobody recorded, a step is its work.
  testing::SmallTrace one;
  one.annotation("ProfilerStep#0", Side::kCpu, 0, 100);
  one.launch("gemm", 1, 5, 30);
  EXPECT_EQ(diff_of(one.read(), trace).answer,
            "new takes 0.03 ms a step, as long as old; no kernel differs.");
}

TEST(TraceDiff, CallsThatVaryAreUnclear) {
  const auto trace_of = [](int longest_us) {
    testing::SmallTrace small;
    for (int call = 0; call < 4; ++call)
      small.launch("gemm", 1, 1000 * call, call == 0 ? longest_us : 30 + call);
    return small.read();
  };
  const TraceDiff diff = diff_of(trace_of(30), trace_of(300));
  EXPECT_EQ(cell(diff, "kernel_diff", 0, "change"), "unclear");
  EXPECT_NE(diff.answer.find("gemm (unclear)"), std::string::npos) << diff.answer;
}

TEST(TraceDiff, TellsWhereAModelTakesLonger) {
  const model::Trace before = model_of({});
  const model::Trace after = model_of({.gemm_us = 40, .norm = false}, true);
  const TraceDiff diff = diff_of(before, after);
  EXPECT_EQ(cell(diff, "tree_diff", 0, "path"), "Model_0");
  EXPECT_EQ(cell(diff, "tree_diff", 0, "old kernels"), "6.0");
  EXPECT_EQ(cell(diff, "tree_diff", 0, "new kernels"), "3.0");
  EXPECT_EQ(cell(diff, "tree_diff", 1, "path"), "Model_0/Layer_0");
  EXPECT_EQ(cell(diff, "tree_diff", 1, "change"), "slower");
  const model::Table& kernels = *diff.book.find("kernel_diff");
  ASSERT_EQ(kernels.row_count(), 6U);
  EXPECT_EQ(cell(diff, "kernel_diff", 0, "change"), "slower");
  EXPECT_EQ(cell(diff, "kernel_diff", 5, "change"), "removed");
}

// Returns a step of three kernels of these microseconds.
model::Trace kernels_of(int first_us, int second_us, int third_us) {
  testing::SmallTrace small;
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 1000);
  small.launch("a", 1, 10, first_us);
  small.launch("b", 1, 310, second_us);
  small.launch("c", 1, 610, third_us);
  return small.read();
}

TEST(TraceDiff, RoundingIsNoDifference) {
  const TraceDiff diff = diff_of(kernels_of(100, 200, 300), kernels_of(300, 200, 100));
  EXPECT_NE(diff.answer.find("take as long in all: "), std::string::npos) << diff.answer;
}

// Steps of a job of four ranks, which multiply and then reduce together.
struct Job {
  double slow_us = 0;  // what the last rank takes longer
  double transfer_us = 100;
  SimulatedRun::Message message = {};
};

const SimulatedRun::Message kUnrecorded{.name = "AllReduce_Sum_bf16_RING_LL", .is_recorded = false};

SimulatedRun run_of(const Job& job) {
  SimulatedRun run(4);
  for (int step = 1; step <= 4; ++step) {
    run.begin_step(step);
    const auto multiplied = run.kernel("gemm", {300, 300, 300, 300 + job.slow_us});
    const auto reduced =
        run.collective(job.message, job.transfer_us, SimulatedRun::kNetwork, {multiplied});
    run.kernel("optimizer", {50}, SimulatedRun::kCompute, {reduced});
  }
  return run;
}

// Of the first `count` ranks of each job.
TraceDiff diff_of_jobs(const Job& before, const Job& after, std::size_t count) {
  auto baseline = run_of(before);
  auto test = run_of(after);
  return trace_diff({"old", std::span(baseline.ranks()).first(count)},
                    {"new", std::span(test.ranks()).first(count)}, {});
}

std::string change_of_collective(const TraceDiff& diff) {
  const model::Table& table = *diff.book.find("kernel_diff");
  for (std::size_t row = 0; row < table.row_count(); ++row)
    if (cell(diff, "kernel_diff", row, "kind") == "communication")
      return cell(diff, "kernel_diff", row, "change");
  return "";
}

TEST(TraceDiff, AWaitForASlowRankIsNoSlowerCollective) {
  const TraceDiff diff = diff_of_jobs({}, {.slow_us = 40}, 4);
  EXPECT_EQ(change_of_collective(diff), "longer wait");
  EXPECT_NE(diff.answer.find("+0.03 ms ncclDevKernel_allreduce (wait for other ranks)"),
            std::string::npos)
      << diff.answer;
  EXPECT_TRUE(diff.answer.ends_with("in the sheet Attribution of 'assay trace compare'."));
  EXPECT_EQ(diff.answer.find("no verdict"), std::string::npos);
}

TEST(TraceDiff, ACollectiveThatTransfersForLongerIsSlower) {
  const TraceDiff diff = diff_of_jobs({.slow_us = 10}, {.slow_us = 10, .transfer_us = 140}, 4);
  EXPECT_EQ(change_of_collective(diff), "slower");
}

TEST(TraceDiff, AWaitForARankWithoutATraceHasNoVerdict) {
  const TraceDiff diff = diff_of_jobs({}, {.slow_us = 40}, 2);
  EXPECT_EQ(change_of_collective(diff), "not judged");
  EXPECT_TRUE(diff.answer.ends_with("has no verdict: name the folders of all ranks."))
      << diff.answer;
}

// The ranks that are present leave a collective together, whether or not others take part.
TEST(TraceDiff, ACollectiveOfUnknownSizeMayLackRanksWithoutATrace) {
  const Job before{.message = kUnrecorded};
  const Job after{.slow_us = 40, .message = kUnrecorded};
  const TraceDiff diff = diff_of_jobs(before, after, 2);
  EXPECT_EQ(change_of_collective(diff), "not judged");
  EXPECT_TRUE(diff.answer.ends_with("has no verdict: name the folders of all ranks."))
      << diff.answer;
  EXPECT_EQ(change_of_collective(diff_of_jobs(before, after, 4)), "longer wait");
}

TEST(TraceDiff, RanksOfAJobOfUnknownSizeAreAllUnlessTheirNumbersLeaveSomeOut) {
  auto baseline = run_of({.message = kUnrecorded});
  auto test = run_of({.transfer_us = 140, .message = kUnrecorded});
  baseline.leave_out_world_size();
  test.leave_out_world_size();
  const std::span before = baseline.ranks();
  const std::span after = test.ranks();
  EXPECT_EQ(change_of_collective(trace_diff({"old", before.first(2)}, {"new", after.first(2)}, {})),
            "slower");
  EXPECT_EQ(change_of_collective(trace_diff({"old", before.last(2)}, {"new", after.last(2)}, {})),
            "not judged");
}

TEST(TraceDiff, OfATraceWithItselfIsEmpty) {
  const model::Trace trace = model_of({});
  const TraceDiff diff = diff_of(trace, trace);
  EXPECT_NE(diff.answer.find("as long as old; no kernel differs."), std::string::npos);
  EXPECT_EQ(diff.for_terminal.row_count(), 0U);
  EXPECT_EQ(diff.book.find("Answer")->row_count(), 1U);
}

}  // namespace
}  // namespace assay::trace
