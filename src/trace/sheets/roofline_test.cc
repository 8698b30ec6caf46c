#include <cmath>

#include "trace/sheet.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

using testing::SmallTrace;

constexpr std::string_view kConvolution =
    R"("Input Dims": [[1, 2, 4, 4], [3, 2, 3, 3], [], [], [], [], [], [], []],
       "Input type": ["float", "float"],
       "Concrete Inputs": ["", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1"])";
constexpr std::string_view kConvolutionBackward =
    R"("Input Dims": [[1, 3, 2, 2], [1, 2, 4, 4], [3, 2, 3, 3], [], [], [], [], [], [], [], []],
       "Input type": ["float", "float", "float"],
       "Concrete Inputs": ["", "", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1", ""])";

SmallTrace convolution_with_backward() {
  SmallTrace small;
  small.op({.name = "aten::convolution",
            .start = 0,
            .duration = 50,
            .sequence = 9,
            .arguments = kConvolution});
  small.launch("forward", 1, 10, 5);
  small.op({.name = "autograd::engine::evaluate_function: ConvolutionBackward0",
            .thread = 2,
            .start = 100,
            .duration = 90,
            .sequence = 9});
  small.op(
      {.name = "ConvolutionBackward0", .thread = 2, .start = 110, .duration = 50, .sequence = 9});
  small.op({.name = "aten::convolution_backward",
            .thread = 2,
            .start = 120,
            .duration = 10,
            .arguments = kConvolutionBackward});
  small.launch("backward", 2, 125, 8);
  return small;
}

model::Book report(const model::Trace& trace, const Options& options) {
  return individual_report(analyze_rank(trace, options, 0));
}

double figure(const model::Table& table, std::string_view column) {
  return model::number(table.at(0, table.column(column).value()));
}

TEST(Roofline, ShowsBackwardWorkOnce) {
  const model::Trace trace = convolution_with_backward().read();
  const model::Book book = report(trace, {});
  const model::Table* forward = book.find("CONV_fwd");
  const model::Table* backward = book.find("CONV_bwd");
  ASSERT_NE(forward, nullptr);
  ASSERT_NE(backward, nullptr);
  EXPECT_EQ(forward->row_count(), 1U);
  ASSERT_EQ(backward->row_count(), 1U);  // not again as that of aten::convolution
  EXPECT_EQ(model::text(backward->at(0, 0)), "aten::convolution_backward");
  constexpr double kFlops = 2 * (3 * 2 * 2) * 2 * 9;
  EXPECT_DOUBLE_EQ(figure(*forward, "GFLOPS_first"), kFlops / 1e9);
  EXPECT_DOUBLE_EQ(figure(*forward, "TFLOPS/s_mean"), kFlops / 1e12 / 5e-6);
  EXPECT_DOUBLE_EQ(figure(*backward, "GFLOPS_first"), 2 * kFlops / 1e9);
  EXPECT_TRUE(std::isnan(figure(*forward, "TFLOPS/s_std")));
}

TEST(Roofline, ComparesWithThePeaksOfTheGpu) {
  const model::Trace trace = convolution_with_backward().read();
  // 432 operations at 1e9 a second take longer than 392 bytes at 1e12.
  const GpuArchitecture slow{"slow", 1000, {{"matrix_fp32", 1e-3}}};
  const model::Book book = report(trace, {.architecture = slow});
  const model::Table& table = *book.find("CONV_fwd");
  EXPECT_NEAR(figure(table, "Roofline Time (µs)_first"), 432 / 1e9 * 1e6, 1e-9);
  EXPECT_EQ(model::text(table.at(0, table.column("Roofline Bound_first").value())),
            "COMPUTE_BOUND");
  EXPECT_NEAR(figure(table, "Pct Roofline_mean"), 100 * 0.432 / 5, 1e-9);
  const model::Table& unified = *book.find("unified_perf_summary");
  EXPECT_TRUE(unified.column("Pct Roofline_mean").has_value());
}

TEST(Roofline, KnowsThePeaksByTheDeviceNameExceptInCompatMode) {
  const model::Trace trace = convolution_with_backward().read();
  const auto has_roofline = [&](Compat compat) {
    const model::Book book = report(trace, {.compat = compat});
    return book.find("CONV_fwd")->column("Pct Roofline_mean").has_value();
  };
  EXPECT_TRUE(has_roofline(Compat::kNone));
  EXPECT_FALSE(has_roofline(Compat::kTraceLens));
}

TEST(Roofline, LeavesOutCallsWithoutWorkExceptInCompatMode) {
  SmallTrace small;
  small.op({.name = "aten::add",
            .start = 0,
            .duration = 5,
            .arguments = R"("Input Dims": [[], []], "Input type": ["float", "float"])"});
  small.op({.name = "other", .start = 10, .duration = 5});
  small.launch("k", 1, 11, 1);
  const model::Trace trace = small.read();
  EXPECT_EQ(report(trace, {}).find("BinaryElementwise"), nullptr);
  const model::Book compatible = report(trace, {.compat = Compat::kTraceLens});
  ASSERT_NE(compatible.find("BinaryElementwise"), nullptr);
  EXPECT_EQ(figure(*compatible.find("BinaryElementwise"), "Kernel Time (µs)_sum"), 0);
}

TEST(Roofline, SaysWhichCallsHaveNoFigures) {
  SmallTrace small;
  small.op({.name = "aten::mm", .start = 0, .duration = 5});
  small.launch("k", 1, 1, 1);
  const model::Trace trace = small.read();
  const model::Book book = report(trace, {});
  EXPECT_EQ(book.find("GEMM"), nullptr);
  const model::Table* unified = book.find("unified_perf_summary");
  ASSERT_NE(unified, nullptr);
  ASSERT_EQ(unified->notes.size(), 1U);
  EXPECT_NE(unified->notes[0].find("aten::mm: no recorded argument 0"), std::string::npos);
}

}  // namespace
}  // namespace assay::trace
