#include "plan/calibrate/calibration.h"

#include <gtest/gtest.h>

#include <array>

namespace assay::plan {
namespace {

// 10 ms, and 1 ms for each 100 tokens of prompts.
class MadeCost final : public StepCost {
 public:
  [[nodiscard]] double ms(const Step& step) const override {
    return 10 + 0.01 * static_cast<double>(step.prompt_tokens());
  }
};

constexpr std::array<Chunks, 1> kPrompt = {Chunks{.requests = 1, .new_tokens = 1000}};

TEST(Calibration, AddsToEachStepAndStretchesPrompts) {
  const MadeCost cost;
  const CalibratedCost calibrated(cost, {.glue_ms = 2, .prompt_factor = 1.5});
  EXPECT_DOUBLE_EQ(calibrated.ms({.decodes = 4}), 12);
  EXPECT_DOUBLE_EQ(calibrated.ms({.chunks = kPrompt, .decodes = 4}), 2 + 10 + 15);
  const CalibratedCost slower(cost, {.glue_ms = 2, .kernel_factor = 2, .prompt_factor = 1.5});
  EXPECT_DOUBLE_EQ(slower.ms({.decodes = 4}), 22);
  EXPECT_DOUBLE_EQ(slower.ms({.chunks = kPrompt, .decodes = 4}), 2 + 20 + 30);
}

// A tenth of all steps has a prompt of so many tokens.
CalibrationPoint point_of(double prompt_ms, const Calibration& truth) {
  const auto predict = [prompt_ms](const Calibration& calibration) {
    const double decoding = calibration.glue_ms + 10 * calibration.kernel_factor;
    const double mixed =
        decoding + calibration.kernel_factor * calibration.prompt_factor * prompt_ms;
    return MeasuredLatencies{.ttft_ms = mixed, .tpot_ms = 0.9 * decoding + 0.1 * mixed};
  };
  return {.measured = predict(truth), .predict = predict};
}

TEST(FitCalibration, FindsWhatTheMeasuredPointsHave) {
  const Calibration truth{.glue_ms = 1.7, .prompt_factor = 1.3};
  const auto fitted =
      fit_calibration({point_of(20, truth), point_of(80, truth), point_of(300, truth)});
  ASSERT_TRUE(fitted.ok());
  EXPECT_NEAR(fitted.value().calibration.glue_ms, 1.7, 0.3);
  EXPECT_NEAR(fitted.value().calibration.prompt_factor, 1.3, 0.05);
  EXPECT_NEAR(fitted.value().calibration.ttft_factor, 1, 0.03);
  EXPECT_LT(fitted.value().tpot_error, 0.01);
  EXPECT_EQ(fitted.value().points, 3U);
}

TEST(FitCalibration, FindsFasterOperators) {
  const Calibration truth{.kernel_factor = 0.6};
  const auto fitted =
      fit_calibration({point_of(20, truth), point_of(80, truth), point_of(300, truth)});
  ASSERT_TRUE(fitted.ok());
  EXPECT_NEAR(fitted.value().calibration.kernel_factor, 0.6, 0.05);
  EXPECT_EQ(fitted.value().calibration.glue_ms, 0);
  EXPECT_LT(fitted.value().tpot_error, 0.03);
}

TEST(FitCalibration, ChangesNothingWherePredictionsAreRight) {
  const auto fitted = fit_calibration({point_of(20, {}), point_of(80, {})});
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted.value().calibration, Calibration{});
}

TEST(FitCalibration, TheFactorOfTtftChangesNoStep) {
  CalibrationPoint late = point_of(20, {});
  late.measured.ttft_ms *= 2;
  const auto fitted = fit_calibration({late});
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted.value().calibration.glue_ms, 0);
  EXPECT_EQ(fitted.value().calibration.prompt_factor, 1);
  EXPECT_DOUBLE_EQ(fitted.value().calibration.ttft_factor, 2);
}

TEST(FitCalibration, GlueIsNeverNegative) {
  CalibrationPoint fast = point_of(20, {});
  fast.measured.tpot_ms /= 2;
  fast.measured.ttft_ms /= 2;
  const auto fitted = fit_calibration({fast});
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted.value().calibration.glue_ms, 0);
}

TEST(FitCalibration, NeedsAPoint) {
  EXPECT_FALSE(fit_calibration({}).ok());
}

}  // namespace
}  // namespace assay::plan
