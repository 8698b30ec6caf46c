// A calibration tells what a few measured deployments know of one's own machine beyond the tables:
// how long a step takes beside its operators, how much slower or faster all operators are, and by
// how much prompts interrupt decoding more than that. It is kept apart from measured tables.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "plan/step.h"
#include "plan/uncertainty/error_bars.h"

namespace assay::plan {

struct Calibration {
  double glue_ms = 0;        // of each step
  double kernel_factor = 1;  // of the operators of a step, those of prompts too
  double prompt_factor = 1;  // of what a step takes more because of the prompts in it
  double ttft_factor = 1;    // of the time to the first token, which also passes the front end

  bool operator==(const Calibration&) const = default;
};

// The time of steps with a calibration. `cost` must outlive it.
class CalibratedCost final : public StepCost {
 public:
  CalibratedCost(const StepCost& cost, Calibration calibration)
      : cost_(&cost), calibration_(calibration) {}

  [[nodiscard]] double ms(const Step& step) const override;

 private:
  const StepCost* cost_;
  Calibration calibration_;
};

struct MeasuredLatencies {
  double ttft_ms = 0;
  double tpot_ms = 0;
};

// A measured deployment, and how a calibration predicts it.
struct CalibrationPoint {
  MeasuredLatencies measured;
  std::function<core::Result<MeasuredLatencies>(const Calibration&)> predict;
};

struct FittedCalibration {
  Calibration calibration;
  std::size_t points = 0;
  double tpot_error = 0;  // the median of the absolute errors on the points, as a share
  double ttft_error = 0;
};

// How far it is off on its points, for error bars; std::nullopt where it has none.
inline std::optional<CalibrationErrors> errors_of(const FittedCalibration& fitted) {
  if (fitted.points == 0) return std::nullopt;
  return CalibrationErrors{
      .points = fitted.points, .ttft = fitted.ttft_error, .tpot = fitted.tpot_error};
}

// Glue and both factors with the least errors of TPOT, found by a pattern search from no change at
// all (R. Hooke, T. A. Jeeves, "Direct search", 1961). Few points tell the factors badly, so that a
// factor of prompts 15 % off, or one of all operators 5 % off, costs as much as one TPOT 3 % off.
// The factor of TTFT is the median of measured
// over predicted then. Error: there is no point, or one has no prediction.
core::Result<FittedCalibration> fit_calibration(const std::vector<CalibrationPoint>& points);

}  // namespace assay::plan
