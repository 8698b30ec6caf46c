#include "trace/perf/model_test_util.h"

namespace assay::trace {
namespace {

constexpr std::string_view kFloats = R"(["float", "float", "float", "float", "float", "float"])";
constexpr double kElements = 2 * 8 * 4;

TEST(Normalization, NormalizesLayers) {
  const Estimate e = estimate({.name = "aten::layer_norm",
                               .dims = "[[2, 8, 4], [], [4], [4], [], []]",
                               .types = kFloats,
                               .concrete = R"(["", "[4]", "", "", "1e-05", "True"])"});
  EXPECT_EQ(e.work.flops, 5 * kElements + 6 * 4);
  EXPECT_EQ(e.work.bytes, 4 * (2 * kElements + 6 * 4));
  EXPECT_EQ(e.compute_spec, "vector_fp32");
}

TEST(Normalization, SeesAMissingBias) {
  const RecordedCall call = {.name = "aten::layer_norm",
                             .dims = "[[2, 8, 4], [], [4], [], [], []]",
                             .types = kFloats,
                             .concrete = R"(["", "[4]", "", "", "1e-05", "True"])"};
  EXPECT_EQ(estimate(call).work.bytes, 4 * (2 * kElements + 5 * 4));
  RecordedCall compatible = call;
  compatible.compat = Compat::kTraceLens;
  EXPECT_EQ(estimate(compatible).work.bytes, 4 * (2 * kElements + 6 * 4));
}

TEST(Normalization, SkipsTheUnwantedInputGradient) {
  const auto call = [](std::string_view concrete, Compat compat) {
    return RecordedCall{.name = "aten::native_layer_norm_backward",
                        .dims = "[[2, 8, 4], [2, 8, 4], [], [2, 8, 1], [2, 8, 1], [4], [4], []]",
                        .types = kFloats,
                        .concrete = concrete,
                        .compat = compat};
  };
  constexpr std::string_view kAll = R"(["", "", "[4]", "", "", "", "", "[True, True, True]"])";
  constexpr std::string_view kSome = R"(["", "", "[4]", "", "", "", "", "[False, True, True]"])";
  const Estimate all = estimate(call(kAll, Compat::kNone));
  EXPECT_EQ(all.work.flops, 9 * kElements);
  EXPECT_EQ(all.work.bytes, 4 * (3 * kElements + 4 * 4));
  const Estimate some = estimate(call(kSome, Compat::kNone));
  EXPECT_EQ(some.work.flops, 4 * kElements);
  EXPECT_EQ(some.work.bytes, 4 * (2 * kElements + 4 * 4));
  EXPECT_EQ(estimate(call(kSome, Compat::kTraceLens)).work.flops, 6 * kElements);
}

TEST(Normalization, ReadsWhetherABatchNormTrains) {
  const RecordedCall call = {.name = "aten::batch_norm",
                             .dims = "[[2, 8, 4], [8], [8], [8], [8], [], [], [], []]",
                             .types = kFloats,
                             .concrete = R"(["", "", "", "", "", "False", "0.1", "1e-05"])"};
  EXPECT_EQ(estimate(call).work.flops, 2 * kElements + 6 * 8);
  EXPECT_EQ(estimate(call).work.bytes, 4 * (2 * kElements + 4 * 8));
  RecordedCall compatible = call;
  compatible.compat = Compat::kTraceLens;  // reads the text "False" as true
  EXPECT_EQ(estimate(compatible).work.flops, 5 * kElements + 6 * 8);
}

TEST(Normalization, GroupsShareTheirStatistics) {
  const Estimate e =
      estimate({.name = "aten::native_group_norm_backward",
                .dims = "[[2, 8, 4], [2, 8, 4], [2, 2], [2, 2], [8], [], [], [], [], []]",
                .types = kFloats,
                .concrete = R"(["", "", "", "", "", "2", "8", "4", "2", "[True, True, True]"])"});
  EXPECT_EQ(e.work.flops, 9 * kElements);
  EXPECT_EQ(e.work.bytes, 4 * (3 * kElements + 4 * 8));
}

TEST(Normalization, ModulatesLayers) {
  const Estimate e = estimate({.name = "primus::fused_ln_modulate",
                               .dims = "[[2, 8, 4], [8, 4], [8, 4], []]",
                               .types = kFloats});
  EXPECT_EQ(e.work.flops, 12 * kElements);
  EXPECT_EQ(e.work.bytes, 4 * 2 * kElements + 4 * 2 * 8 * 4 + 2 * 4 * 2 * 8);
}

TEST(RmsNorm, DividesByTheRoot) {
  const RecordedCall call = {.name = "aten::_fused_rms_norm",
                             .dims = "[[2, 8, 4], [], [4], []]",
                             .types = kFloats,
                             .concrete = R"(["", "[4]", "", "1e-05"])"};
  EXPECT_EQ(estimate(call).work.flops, 16 * (2 * 4 + 2) + 2 * kElements);
  EXPECT_EQ(estimate(call).work.bytes, 4 * (2 * kElements + 4));
}

TEST(RmsNorm, GoesBackward) {
  const Estimate e = estimate({.name = "aten::_fused_rms_norm_backward",
                               .dims = "[[2, 8, 4], [2, 8, 4], [], [2, 8, 1], [4], []]",
                               .types = kFloats,
                               .concrete = R"(["", "", "[4]", "", "", "[True, True]"])"});
  EXPECT_EQ(e.work.flops, (2 + 6 + 2) * kElements);
  EXPECT_EQ(e.work.bytes, 4 * (3 * kElements + 2 * 4));
}

TEST(RmsNorm, AddsAndQuantizes) {
  const Estimate added = estimate({.name = "aiter::rmsnorm2d_fwd_with_add_ck",
                                   .dims = "[[16, 4], [16, 4], [16, 4], [16, 4], [4], []]",
                                   .types = kFloats});
  EXPECT_EQ(added.work.flops, 16 * (2 * 4 + 2) + 3 * kElements);
  EXPECT_EQ(added.work.bytes, 4 * (4 * kElements + 4));

  const Estimate quantized = estimate({.name = "aiter::rmsnorm2d_fwd_with_dynamicquant_ck",
                                       .dims = "[[16, 4], [16, 4], [16, 1], [4], [], []]",
                                       .types = kFloats});
  EXPECT_EQ(quantized.work.flops, 16 * (2 * 4 + 2) + 4 * kElements);
  EXPECT_EQ(quantized.work.bytes, 4 * (kElements + 4) + kElements + 4 * 16);
}

TEST(Normalization, OfGroupsHasOneFormInPytorchAndAiter) {
  RecordedCall call = {
      .name = "aten::group_norm",
      .dims = "[[1, 8, 4, 4], [], [8], [8], []]",
      .types = R"(["c10::BFloat16", "Scalar", "c10::BFloat16", "c10::BFloat16", "Scalar"])",
      .concrete = R"(["", "2", "", "", "1e-06"])"};
  const Estimate expected = estimate(call);
  call.name = "aiter::_groupnorm_run";
  EXPECT_EQ(parameter_text(estimate(call)), parameter_text(expected));
  EXPECT_EQ(estimate(call).work.flops, expected.work.flops);
  EXPECT_EQ(estimate(call).work.bytes, expected.work.bytes);
}

}  // namespace
}  // namespace assay::trace
