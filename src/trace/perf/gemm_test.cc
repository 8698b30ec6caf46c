#include "trace/perf/model_test_util.h"

namespace assay::trace {
namespace {

constexpr std::string_view kBf16Pair = R"(["c10::BFloat16", "c10::BFloat16"])";

TEST(Gemm, MultipliesTwoMatrices) {
  const Estimate e = estimate({.name = "aten::mm",
                               .dims = "[[2, 3], [3, 5]]",
                               .types = kBf16Pair,
                               .strides = "[[3, 1], [1, 3]]",
                               .kernels = {"Memset (Device)", "nvjet_sm90_tst_128x64_coopA_TNT"}});
  EXPECT_EQ(e.work.flops, 2 * 2 * 3 * 5);
  EXPECT_EQ(e.work.bytes, 2 * (2 * 3 + 3 * 5 + 2 * 5));
  EXPECT_EQ(e.compute_spec, "matrix_bf16");
  EXPECT_FALSE(e.backward_work.has_value());
  EXPECT_EQ(parameter_text(e),
            "M=2 N=5 K=3 bias=False stride_A=(3, 1) stride_B=(1, 3) "
            "dtype_A_B=('c10::BFloat16', 'c10::BFloat16') B=1 transpose=(True, False)");
}

TEST(Gemm, ReadsTransposesOfTensileKernels) {
  const Estimate e = estimate({.name = "aten::mm",
                               .dims = "[[2, 3], [3, 5]]",
                               .types = kBf16Pair,
                               .kernels = {"Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_MT64x16x64"}});
  EXPECT_EQ(python_repr(e.parameters.back().value, Brackets::kTuple), "(True, False)");
}

TEST(Gemm, AddsTheBias) {
  const Estimate e = estimate({.name = "aten::addmm",
                               .dims = "[[5], [2, 3], [3, 5]]",
                               .types = R"(["float", "float", "float"])"});
  EXPECT_EQ(e.work.flops, 2 * 2 * 3 * 5 + 2 * 5);
  EXPECT_EQ(e.work.bytes, 4 * (2 * 3 + 3 * 5 + 2 * 5 + 5));
}

TEST(Gemm, MultipliesBatches) {
  const Estimate plain =
      estimate({.name = "aten::bmm", .dims = "[[7, 2, 3], [7, 3, 5]]", .types = kBf16Pair});
  EXPECT_EQ(plain.work.flops, 7 * 2 * 2 * 3 * 5);
  EXPECT_EQ(plain.work.bytes, 7 * 2 * (2 * 3 + 3 * 5 + 2 * 5));
  EXPECT_TRUE(parameter_text(plain).starts_with("B=7 M=2 N=5 K=3 bias=False"));

  const Estimate added = estimate({.name = "aten::baddbmm",
                                   .dims = "[[7, 2, 5], [7, 2, 3], [7, 3, 5]]",
                                   .types = R"(["float", "float", "float"])"});
  EXPECT_EQ(added.work.flops, 7 * (2 * 2 * 3 * 5 + 2 * 5));
}

TEST(Gemm, WritesSixteenBitsFromEight) {
  const RecordedCall call = {.name = "aten::_scaled_mm",
                             .dims = "[[2, 3], [3, 5], [], [], [5]]",
                             .types = R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn"])"};
  const Estimate e = estimate(call);
  EXPECT_EQ(e.work.flops, 2 * 2 * 3 * 5 + 2 * 5);
  EXPECT_EQ(e.work.bytes, 2 * 3 + 3 * 5 + 2 * 2 * 5 + 5);
  EXPECT_EQ(e.compute_spec, "matrix_fp8");

  RecordedCall compatible = call;
  compatible.compat = Compat::kTraceLens;
  EXPECT_EQ(estimate(compatible).work.flops, 2 * 2 * 3 * 5);  // sees no bias among five arguments
}

TEST(Gemm, TakesTransposedWeights) {
  const Estimate linear =
      estimate({.name = "aiter::gemm_a8w8_ck",
                .dims = "[[2, 3], [5, 3], [2, 1], [1, 5], [2, 5]]",
                .types = R"(["c10::Float8_e4m3fnuz", "c10::Float8_e4m3fnuz"])"});
  EXPECT_EQ(linear.work.flops, 2 * 2 * 3 * 5);
  EXPECT_EQ(linear.work.bytes, 2 * 3 + 3 * 5 + 2 * 2 * 5);

  const Estimate int8 = estimate({.name = "bitsandbytes::int8_linear_matmul",
                                  .dims = "[[2, 3], [5, 3]]",
                                  .types = R"(["signed char", "signed char"])"});
  EXPECT_EQ(int8.work.flops, 2 * 2 * 3 * 5);
  EXPECT_EQ(int8.work.bytes, 2 * 3 + 3 * 5 + 4 * 2 * 5);
}

TEST(Gemm, CountsPackedFourBitOperands) {
  // A recorded K of 32 bytes means 64 elements: two blocks with a scale each.
  const Estimate e = estimate({.name = "aiter::gemm_a4w4",
                               .dims = "[[2, 32], [5, 32]]",
                               .types = R"(["c10::Float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2"])"});
  EXPECT_EQ(e.work.flops, 2 * 2 * 64 * 5);
  EXPECT_EQ(e.work.bytes, 2 * 32 + 5 * 32 + (2 + 5) * 2 + 2 * 2 * 5);
  EXPECT_EQ(e.compute_spec, "matrix_fp4");
}

TEST(Gemm, SwapsTheOperandsOfATransposedResult) {
  // The call asks for Cᵀ, so A and B change places and both flags flip.
  const Estimate e =
      estimate({.name = "primus_turbo::hipblaslt_gemm_fp8",
                .dims = "[[2, 3], [], [5, 3], []]",
                .types = R"(["c10::Float8_e4m3fnuz", "float", "c10::Float8_e4m3fnuz", "float"])",
                .concrete = R"(["", "", "", "", "15", "False", "True", "True"])"});
  EXPECT_TRUE(parameter_text(e).starts_with("M=5 N=2 K=3"));
  EXPECT_EQ(e.work.flops, 2 * 2 * 3 * 5);
}

TEST(Gemm, SaysWhatIsWrongWithACall) {
  EXPECT_EQ(try_estimate({.name = "aten::mm", .dims = "[[2, 3]]", .types = "[]"}).error().message,
            "aten::mm: no recorded argument 1");
  EXPECT_EQ(try_estimate({.name = "aten::mm", .dims = "[[2], [2]]", .types = "[]"}).error().message,
            "aten::mm: argument 0 has 1 dimensions instead of 2");
}

TEST(Gemm, LeavesBytesOpenForUnknownTypes) {
  const Estimate e =
      estimate({.name = "aten::mm", .dims = "[[2, 3], [3, 5]]", .types = R"(["?", "?"])"});
  EXPECT_FALSE(e.work.bytes.has_value());
  EXPECT_EQ(e.compute_spec, "");
}

}  // namespace
}  // namespace assay::trace
