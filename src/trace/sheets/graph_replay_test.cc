// What the sheets show of the kernels that a captured graph replays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/sheet.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using ::testing::ElementsAre;

// Two decoding steps of a serving engine, which replay one graph.
testing::SmallTrace two_replays() {
  testing::SmallTrace small;
  small.op({.name = "aten::copy_", .start = 0, .duration = 10});
  small.launch("void at::native::elementwise_kernel<128, 4>()", 1, 2, 1);
  for (const int start : {100, 300}) {
    small.replay("cudaGraphLaunch", 1, start,
                 {{"nvjet_sm90_tst_64x8", 40},
                  {"void vllm::cross_device_reduce_1stage<half, 8>()", 9},
                  {"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>()", 20},
                  {"nvjet_sm90_tst_64x8", 30}});
  }
  return small;
}

model::Book report_of(const testing::SmallTrace& small, Compat compat) {
  const model::Trace trace = small.read();
  return individual_report(analyze_rank(trace, {.compat = compat}, 0));
}

std::vector<std::string> column(const model::Table& table, const char* name) {
  std::vector<std::string> result;
  for (std::size_t row = 0; row < table.row_count(); ++row)
    result.push_back(model::text(table.at(row, table.column(name).value())));
  return result;
}

double figure(const model::Table& table, std::size_t row, const char* name) {
  return model::number(table.at(row, table.column(name).value()));
}

TEST(GraphReplay, IsExpandedToItsKernels) {
  const model::Book book = report_of(two_replays(), Compat::kNone);
  EXPECT_THAT(column(*book.find("ops_summary_by_category"), "op category"),
              ElementsAre("GEMM", "InferenceAttention", "elementwise"));
  const model::Table& kernels = *book.find("ops_unique_args");
  EXPECT_THAT(
      column(kernels, "name"),
      ElementsAre("nvjet_sm90_tst_64x8",
                  "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>()", "aten::copy_"));
  EXPECT_EQ(figure(kernels, 0, "operation_count"), 4);
  EXPECT_EQ(figure(kernels, 0, "total_direct_kernel_time_mean"), 35);
  EXPECT_EQ(figure(kernels, 0, "total_subtree_kernel_time_sum"), 140);
  EXPECT_EQ(figure(*book.find("ops_summary"), 1, "Count"), 2);
}

TEST(GraphReplay, HasCategoriesInTheOtherSheetsToo) {
  const model::Book book = report_of(two_replays(), Compat::kNone);
  EXPECT_THAT(column(*book.find("kernel_summary"), "Parent op category"),
              ElementsAre("GEMM", "InferenceAttention", "communication", "elementwise"));
  EXPECT_THAT(column(*book.find("kernel_summary"), "Parent cpu_op"),
              ElementsAre("cudaGraphLaunch", "cudaGraphLaunch", "cudaGraphLaunch", "aten::copy_"));
  EXPECT_THAT(column(*book.find("unified_perf_summary"), "op category"),
              ElementsAre("GEMM", "InferenceAttention", "elementwise"));
}

TEST(KernelSummary, KnowsCommunicationThatNoOperatorLaunched) {
  testing::SmallTrace small;
  small.launch("EpDispatchIntraNodeKernel_bf16", 1, 0, 10);
  small.launch("my_kernel", 1, 20, 5);
  EXPECT_THAT(column(*report_of(small, Compat::kNone).find("kernel_summary"), "Parent op category"),
              ElementsAre("communication", "runtime"));
  EXPECT_THAT(
      column(*report_of(small, Compat::kTraceLens).find("kernel_summary"), "Parent op category"),
      ElementsAre("runtime", "runtime"));
}

TEST(GraphReplay, BelowAnOperatorIsExpandedToo) {
  testing::SmallTrace small;
  small.op({.name = "Torch-Compiled Region: 0/0", .start = 0, .duration = 50});
  small.replay("hipGraphLaunch", 1, 10, {{"Cijk_Alik_Bljk", 40}, {"triton_poi_fused_add_0", 5}});
  const model::Book book = report_of(small, Compat::kNone);
  EXPECT_THAT(column(*book.find("ops_summary"), "name"),
              ElementsAre("Cijk_Alik_Bljk", "triton_poi_fused_add_0"));
  EXPECT_THAT(column(*book.find("unified_perf_summary"), "op category"),
              ElementsAre("GEMM", "triton"));
}

TEST(GraphReplay, IsOneRowForThePublicTool) {
  const model::Book book = report_of(two_replays(), Compat::kTraceLens);
  EXPECT_THAT(column(*book.find("ops_summary"), "name"),
              ElementsAre("cudaGraphLaunch", "aten::copy_"));
  EXPECT_THAT(column(*book.find("ops_summary_by_category"), "op category"),
              ElementsAre("other", "elementwise"));
}

}  // namespace
}  // namespace assay::trace
