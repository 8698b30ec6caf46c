#include "trace/perf/model_test_util.h"

namespace assay::trace {
namespace {

constexpr std::string_view kFloatPair = R"(["float", "float", "float"])";

// 2 images of 3 channels 8x8, 4 filters 3x3, stride 2, padding 1: output 4x4.
TEST(Convolution, MeetsEachOutputWithItsFilter) {
  const Estimate e = estimate(
      {.name = "aten::convolution",
       .dims = "[[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], [], [], []]",
       .types = kFloatPair,
       .concrete = R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])"});
  constexpr double kOutputs = 2 * 4 * 4 * 4;
  constexpr double kProducts = 2 * kOutputs * 3 * 3 * 3;
  constexpr double kInputs = 2 * 3 * 8 * 8;
  constexpr double kFilters = 4 * 3 * 3 * 3;
  EXPECT_EQ(e.work.flops, kProducts + kOutputs);
  EXPECT_EQ(e.work.bytes, 4 * (kInputs + kFilters + 4 + kOutputs));
  EXPECT_EQ(e.backward_work->flops, 2 * kProducts + kOutputs);
  EXPECT_EQ(e.backward_work->bytes, 4 * (2 * (kOutputs + kFilters + kInputs) + kOutputs + 4));
  EXPECT_TRUE(parameter_text(e).starts_with("convNd='conv2d' input_shape=(2, 3, 8, 8)"));
}

TEST(Convolution, MeetsEachInputWithATransposedFilter) {
  // 1x2x5 with 2 filters to 3 channels of width 4, stride 2: (5-1)*2 + 3 + 1 = 12.
  const Estimate e =
      estimate({.name = "aten::convolution",
                .dims = "[[1, 2, 5], [2, 3, 4], [], [], [], [], [], [], []]",
                .types = kFloatPair,
                .concrete = R"(["", "", "", "[2]", "[0]", "[1]", "True", "[0]", "1"])"});
  EXPECT_EQ(e.work.flops, 2 * (1 * 2 * 5) * 3 * 4);
  EXPECT_EQ(e.work.bytes, 4 * (1 * 2 * 5 + 2 * 3 * 4 + 1 * 3 * 12));
}

TEST(Convolution, ReadsTheBackwardOperatorOneArgumentLater) {
  const Estimate e = estimate(
      {.name = "aten::convolution_backward",
       .dims = "[[2, 4, 4, 4], [2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], [], []]",
       .types = kFloatPair,
       .concrete =
           R"(["", "", "", "[4]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", ""])"});
  constexpr double kOutputs = 2 * 4 * 4 * 4;
  EXPECT_EQ(e.work.flops, 2 * 2 * kOutputs * 27 + kOutputs);
  EXPECT_FALSE(e.backward_work.has_value());
}

TEST(Convolution, KnowsGroupsAndDilation) {
  // Depthwise 4 channels, width 3, dilation 2: reach 5, output 6 of 10.
  const Estimate e =
      estimate({.name = "aten::convolution",
                .dims = "[[1, 4, 10], [4, 1, 3], [], [], [], [], [], [], []]",
                .types = kFloatPair,
                .concrete = R"(["", "", "", "[1]", "[0]", "[2]", "False", "[0]", "4"])"});
  EXPECT_EQ(e.work.flops, 2 * (1 * 4 * 6) * 1 * 3);
}

TEST(Convolution, HasItsBiasInFusedOperators) {
  const Estimate e = estimate({.name = "ConvBiasReLU_",
                               .dims = "[[1, 2, 4, 4], [3, 2, 3, 3], [1, 3, 1, 1], [], []]",
                               .types = kFloatPair,
                               .concrete = R"(["", "", "", "1", "2"])"});
  // padding 1, stride 2: 2x2
  EXPECT_EQ(e.work.flops, 2 * (3 * 2 * 2) * 2 * 9 + 3 * 2 * 2);
}

TEST(Convolution, RejectsAStrideOfZero) {
  EXPECT_FALSE(
      try_estimate({.name = "aten::convolution",
                    .dims = "[[1, 2, 5], [2, 2, 3], [], [], [], [], [], [], []]",
                    .types = kFloatPair,
                    .concrete = R"(["", "", "", "[0]", "[0]", "[1]", "False", "[0]", "1"])"})
          .ok());
}

}  // namespace
}  // namespace assay::trace
