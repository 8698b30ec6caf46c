#include <gmock/gmock.h>

#include "trace/perf/model_test_util.h"

namespace assay::trace {
namespace {

TEST(Elementwise, ReadsAndWritesEachElementOnce) {
  const Estimate copy = estimate({.name = "aten::copy_",
                                  .dims = "[[4, 5], [4, 5], []]",
                                  .types = R"(["float", "c10::BFloat16", "Scalar"])",
                                  .strides = "[[5, 1], [1, 4], []]"});
  EXPECT_EQ(copy.work.flops, 20);
  EXPECT_EQ(copy.work.bytes, 20 * (4 + 2));
  EXPECT_EQ(copy.compute_spec, "vector_fp32");
  EXPECT_EQ(parameter_text(copy),
            "op_shape=(4, 5) dtype_in_out=('float', 'c10::BFloat16') stride_input=(5, 1) "
            "stride_output=(1, 4)");

  const Estimate scalar = estimate({.name = "aten::neg", .dims = "[[]]", .types = R"(["double"])"});
  EXPECT_EQ(scalar.work.flops, 1);
  EXPECT_EQ(scalar.work.bytes, 16);
}

TEST(Elementwise, BroadcastsTwoOperands) {
  const Estimate e = estimate({.name = "aten::mul",
                               .dims = "[[2, 1, 4], [3, 4]]",
                               .types = R"(["c10::BFloat16", "float"])"});
  EXPECT_EQ(e.work.flops, 2 * 3 * 4);
  EXPECT_EQ(e.work.bytes, 8 * 2 + 12 * 4 + 24 * 4);  // the wider type wins
}

TEST(Elementwise, KeepsTheTensorsTypeBesideAScalar) {
  const Estimate e = estimate(
      {.name = "aten::mul", .dims = "[[6], []]", .types = R"(["c10::BFloat16", "long int"])"});
  EXPECT_EQ(e.work.bytes, 6 * 2 + 8 + 6 * 2);
  EXPECT_FALSE(
      try_estimate({.name = "aten::add", .dims = "[[2], [3]]", .types = R"(["float", "float"])"})
          .ok());
}

TEST(Elementwise, WritesTheEnlargedOutput) {
  const Estimate pad = estimate({.name = "aten::replication_pad2d",
                                 .dims = "[[1, 2, 4, 5], []]",
                                 .types = R"(["float", "ScalarList"])",
                                 .concrete = R"(["", "[1, 2, 3, 4]"])"});
  EXPECT_EQ(pad.work.bytes, 4 * (2 * 4 * 5 + 2 * (4 + 7) * (5 + 3)));

  const Estimate up = estimate({.name = "aten::upsample_nearest2d",
                                .dims = "[[1, 2, 4, 5], [], []]",
                                .types = R"(["float", "", ""])",
                                .concrete = R"(["", "", "[2.0, 3.0]"])"});
  EXPECT_EQ(up.work.bytes, 4 * (2 * 4 * 5 + 2 * 8 * 15));
}

TEST(Elementwise, NamesTheShapesOfAResizingCall) {
  RecordedCall call = {.name = "aten::upsample_nearest2d",
                       .dims = "[[1, 2, 4, 5], [], []]",
                       .types = R"(["float", "", ""])",
                       .concrete = R"(["", "[8, 15]", ""])",
                       .strides = "[[40, 20, 5, 1], [], []]",
                       .compat = Compat::kTraceLens};
  EXPECT_EQ(parameter_text(estimate(call)),
            "input_shape=(1, 2, 4, 5) output_shape=(1, 2, 8, 15) op_shape=(1, 2, 8, 15) "
            "dtype_in_out=('float', 'float') stride_input=(40, 20, 5, 1) stride_output=None");
  call.concrete = R"(["", "", "[2.0, 3.0]"])";
  EXPECT_FALSE(try_estimate(call).ok()) << "the public tool knows no scales";
  call.name = "aten::replication_pad2d";
  call.concrete = R"(["", "[1, 2, 3, 4]"])";
  EXPECT_THAT(parameter_text(estimate(call)),
              ::testing::HasSubstr("padding=[1, 2, 3, 4] op_shape=(1, 2, 11, 8)"));
}

TEST(Elementwise, QuantizesToFewerBits) {
  const Estimate fp8 = estimate({.name = "primus_turbo::quantize_fp8_tensorwise",
                                 .dims = "[[4, 8]]",
                                 .types = R"(["c10::BFloat16"])"});
  EXPECT_EQ(fp8.work.bytes, 32 * (2 + 1));
  const Estimate fp4 = estimate({.name = "primus_turbo::quantize_mxfp4_dual",
                                 .dims = "[[64, 96]]",
                                 .types = R"(["c10::BFloat16"])"});
  EXPECT_EQ(fp4.work.bytes, 64 * 96 * 2 + 64 * 96 + 64 * 3 + 96 * 2);
  // The last part of a row or column has a scale, too: 3 blocks of 65 rows, 4 of 97 columns; 65 x
  // 97 elements of half a byte take a whole byte for the last one.
  const Estimate odd = estimate({.name = "primus_turbo::quantize_mxfp4_dual",
                                 .dims = "[[65, 97]]",
                                 .types = R"(["c10::BFloat16"])"});
  EXPECT_EQ(odd.work.bytes, 65 * 97 * 2 + 2 * ((65 * 97 + 1) / 2) + 65 * 4 + 97 * 3);
}

TEST(Elementwise, GatesHalfTheInputWithTheOther) {
  const Estimate e = estimate({.name = "_C::silu_and_mul",
                               .dims = "[[4, 8], [4, 16]]",
                               .types = R"(["c10::BFloat16", "c10::BFloat16"])"});
  EXPECT_EQ(e.work.flops, 2 * 32);
  EXPECT_EQ(e.work.bytes, 2 * (64 + 32));
}

TEST(Reduce, FindsTheKeptElements) {
  const auto outputs = [](std::string_view name, std::string_view concrete,
                          Compat compat = Compat::kNone) {
    const Estimate e = estimate({.name = name,
                                 .dims = "[[2, 3, 5]]",
                                 .types = R"(["float"])",
                                 .concrete = concrete,
                                 .compat = compat});
    EXPECT_EQ(e.work.flops, 30);
    EXPECT_EQ(e.backward_work->flops, 30);
    return *e.work.bytes / 4 - 30;
  };
  EXPECT_EQ(outputs("aten::sum", R"([""])"), 1);
  EXPECT_EQ(outputs("aten::sum", R"(["", "[1]", "True", ""])"), 10);
  EXPECT_EQ(outputs("aten::mean", R"(["", "[-1, 0]", "False", ""])"), 3);
  EXPECT_EQ(outputs("aten::mean", R"(["", "[]", "False", ""])"), 1);
  EXPECT_EQ(outputs("aten::max", R"(["", "2", "False"])"), 6);
  EXPECT_EQ(outputs("aten::norm", R"(["", "2", "[0]", "False"])"), 15);
  EXPECT_EQ(outputs("aten::std", R"(["", "True"])"), 1);
  EXPECT_EQ(outputs("aten::cumsum", R"(["", "1"])"), 30);
  EXPECT_EQ(outputs("aten::sum", R"(["", "[1]", "True", ""])", Compat::kTraceLens), 1);
}

}  // namespace
}  // namespace assay::trace
