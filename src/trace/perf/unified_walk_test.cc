#include "trace/perf/unified_walk.h"

#include "trace/call_tree.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using testing::SmallTrace;

constexpr std::string_view kMatrices =
    R"("Input Dims": [[2, 3], [3, 5]], "Input type": ["float", "float"],
       "Input Strides": [[3, 1], [5, 1]], "Concrete Inputs": ["", ""])";
constexpr std::string_view kAttention =
    R"("Input Dims": [[1, 2, 8, 4], [1, 2, 8, 4], [1, 2, 8, 4]],
       "Input type": ["float", "float", "float"], "Concrete Inputs": ["", "", "", "0.", "False"])";

struct Walked {
  explicit Walked(const SmallTrace& small, Compat compat = Compat::kNone)
      : trace(small.read()),
        rank(analyze_rank(trace, {.compat = compat}, 0)),
        estimates(rank),
        rows(unified_rows(rank, estimates)) {}

  model::Trace trace;
  RankAnalysis rank;
  Estimates estimates;
  std::vector<UnifiedRow> rows;
};

TEST(UnifiedWalk, TakesAModelledOperatorWhole) {
  SmallTrace small;
  small.op({.name = "aten::linear", .start = 0, .duration = 100});
  small.op({.name = "aten::mm", .start = 10, .duration = 50, .arguments = kMatrices});
  small.launch("first", 1, 20, 5);
  small.launch("second", 1, 30, 7);
  const Walked walked(small);
  ASSERT_EQ(walked.rows.size(), 1U);
  const UnifiedRow& row = walked.rows[0];
  EXPECT_EQ(row.name, "aten::mm");
  EXPECT_EQ(row.category, "GEMM");
  EXPECT_TRUE(row.has_model);
  EXPECT_EQ(row.work->flops, 2 * 2 * 3 * 5);
  EXPECT_EQ(row.gpu_events.size(), 2U);
  EXPECT_EQ(row.kernel_us, 12);
}

TEST(UnifiedWalk, ShowsACallThatItsModelDoesNotFit) {
  SmallTrace small;
  small.op({.name = "aten::mm", .start = 10, .duration = 50});
  small.launch("k", 1, 20, 5);
  const Walked walked(small);
  ASSERT_EQ(walked.rows.size(), 1U);
  EXPECT_TRUE(walked.rows[0].has_model);
  EXPECT_EQ(walked.rows[0].work, nullptr);
  ASSERT_EQ(walked.estimates.failures().all().size(), 1U);
  EXPECT_EQ(walked.estimates.failures().all()[0].example, "aten::mm: no recorded argument 0");
}

// Forward attention on thread 1, its backward operator on thread 2.
SmallTrace attention_with_backward() {
  SmallTrace small;
  small.op({.name = "aten::_scaled_dot_product_flash_attention",
            .start = 0,
            .duration = 50,
            .sequence = 9,
            .arguments = kAttention});
  small.launch("forward", 1, 10, 5);
  small.op({.name = "autograd::engine::evaluate_function: AttentionBackward0",
            .thread = 2,
            .start = 100,
            .duration = 90,
            .sequence = 9});
  small.op(
      {.name = "AttentionBackward0", .thread = 2, .start = 110, .duration = 50, .sequence = 9});
  small.op({.name = "aten::leaf", .thread = 2, .start = 120, .duration = 10});
  small.launch("backward", 2, 125, 8);
  return small;
}

TEST(UnifiedWalk, GivesTheForwardModelToItsOnlyBackwardOperator) {
  const Walked walked(attention_with_backward());
  ASSERT_EQ(walked.rows.size(), 2U);
  const UnifiedRow& backward = walked.rows[1];
  EXPECT_EQ(backward.name, "AttentionBackward0");
  EXPECT_EQ(backward.category, "SDPA_bwd");
  EXPECT_EQ(backward.work->flops, 2 * (2 * 8 * 8) * (2 * 4 + 3 * 4));
  EXPECT_EQ(backward.kernel_us, 8);
}

TEST(UnifiedWalk, PrefersModelsBelowABackwardOperator) {
  SmallTrace small = attention_with_backward();
  small.op({.name = "aten::mm", .thread = 2, .start = 140, .duration = 10, .arguments = kMatrices});
  small.launch("product", 2, 145, 3);
  const Walked walked(small);
  ASSERT_EQ(walked.rows.size(), 3U);
  EXPECT_EQ(walked.rows[1].name, "aten::leaf");
  EXPECT_FALSE(walked.rows[1].has_model);
  EXPECT_EQ(walked.rows[2].name, "aten::mm");
}

TEST(UnifiedWalk, NamesKernelsLaunchedBesideModelledOperators) {
  SmallTrace small;
  small.op({.name = "my::both", .start = 0, .duration = 100});
  small.op({.name = "aten::mm", .start = 10, .duration = 20, .arguments = kMatrices});
  small.launch("product", 1, 15, 5);
  small.launch("own", 1, 50, 7);
  for (const Compat compat : {Compat::kNone, Compat::kTraceLens}) {
    const Walked walked(small, compat);
    ASSERT_EQ(walked.rows.size(), 2U);
    EXPECT_EQ(walked.rows[0].name, "aten::mm");
    EXPECT_EQ(walked.rows[1].name, "my::both->own (Synthetic Op)");
    EXPECT_EQ(walked.rows[1].kernel_us, 7);
    // There are six events. The public tool gives the row the next number, we that of the operator.
    EXPECT_EQ(walked.rows[1].uid, compat == Compat::kNone ? 0U : 6U);
  }
}

TEST(UnifiedWalk, ShowsWorkThatNoOperatorLaunched) {
  SmallTrace small;
  small.launch_by("cudaGraphLaunch", "captured", 1, 10, 4);
  const Walked walked(small);
  ASSERT_EQ(walked.rows.size(), 1U);
  EXPECT_EQ(walked.rows[0].name, "cudaGraphLaunch->captured (Synthetic Op)");
}

TEST(UnifiedWalk, LeavesCommunicationOut) {
  SmallTrace small;
  small.op({.name = "c10d::allreduce_", .start = 0, .duration = 100});
  small.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 1, 10, 4);
  small.launch("scale", 1, 20, 3);
  const Walked walked(small);
  ASSERT_EQ(walked.rows.size(), 1U);
  EXPECT_EQ(walked.rows[0].name, "c10d::allreduce_->scale (Synthetic Op)");
}

TEST(BackwardLinks, JoinTheInnermostForwardOperator) {
  SmallTrace small;
  small.op({.name = "outer", .start = 0, .duration = 100, .sequence = 9});
  small.op({.name = "inner", .start = 10, .duration = 50, .sequence = 9});
  small.op({.name = "autograd::engine::evaluate_function: X",
            .thread = 2,
            .start = 200,
            .duration = 50,
            .sequence = 9});
  small.op({.name = "X", .thread = 2, .start = 210, .duration = 30, .sequence = 9});
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  const BackwardLinks links(trace, rank.tree);
  EXPECT_EQ(links.backward_of(0), kNoNode);
  EXPECT_EQ(links.backward_of(1), 2U);
  EXPECT_EQ(links.forward_of(2), 1U);
  EXPECT_EQ(links.forward_of(3), kNoNode);
  EXPECT_EQ(links.below(rank.tree, 0).size(), 1U);
  EXPECT_TRUE(links.below(rank.tree, 2).empty());
}

}  // namespace
}  // namespace assay::trace
