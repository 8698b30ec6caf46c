#include "plan/calibrate/calibration.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"

namespace assay::plan {
namespace {

constexpr double kUsualError =
    0.03;  // of TPOT, as a logarithm; of larger ones only the size counts
constexpr double kUsualFactor = 0.15;   // how far the prompts' factor lies from 1, as a logarithm
constexpr double kUsualKernels = 0.05;  // and that of all operators
constexpr double kLeastFactor = 0.5;
constexpr double kMostFactor = 4;

// Grows as the square of small errors, and as the size of large ones, so that one bad row does not
// decide (P. J. Huber, "Robust estimation of a location parameter", 1964, in its smooth form).
double cost_of(double error) {
  return std::sqrt(1 + error * error) - 1;
}

class Fit {
 public:
  explicit Fit(const std::vector<CalibrationPoint>& points) : points_(points) {}

  core::Result<FittedCalibration> run() {
    best_error_ = ASSAY_TRY(error_of(best_));
    double glue_step = 0.25 * least_tpot();
    double factor_step = 0.3;
    for (int halving = 0; halving < kHalvings; ++halving) {
      while (ASSAY_TRY(improve(glue_step, factor_step))) {
      }
      glue_step /= 2;
      factor_step /= 2;
    }
    return fitted();
  }

 private:
  static constexpr int kHalvings = 6;

  [[nodiscard]] double least_tpot() const {
    double least = points_.front().measured.tpot_ms;
    for (const CalibrationPoint& point : points_)
      least = std::min(least, point.measured.tpot_ms);
    return least;
  }

  [[nodiscard]] core::Result<double> error_of(const Calibration& calibration) const {
    double sum = cost_of(std::log(calibration.prompt_factor) / kUsualFactor) +
                 cost_of(std::log(calibration.kernel_factor) / kUsualKernels);
    for (const CalibrationPoint& point : points_) {
      const MeasuredLatencies found = ASSAY_TRY(point.predict(calibration));
      sum += cost_of(std::log(found.tpot_ms / point.measured.tpot_ms) / kUsualError);
    }
    return sum;
  }

  // Tries a step along each direction; false if none is better.
  core::Result<bool> improve(double glue_step, double factor_step) {
    bool is_better = false;
    for (const double sign : {1.0, -1.0}) {
      Calibration other = best_;
      other.glue_ms = std::max(0.0, best_.glue_ms + sign * glue_step);
      is_better |= ASSAY_TRY(take(other));
      other = best_;
      other.prompt_factor =
          std::clamp(best_.prompt_factor * std::exp(sign * factor_step), kLeastFactor, kMostFactor);
      is_better |= ASSAY_TRY(take(other));
      other = best_;
      other.kernel_factor =
          std::clamp(best_.kernel_factor * std::exp(sign * factor_step), kLeastFactor, kMostFactor);
      is_better |= ASSAY_TRY(take(other));
    }
    return is_better;
  }

  core::Result<bool> take(const Calibration& other) {
    if (other == best_) return false;
    const double error = ASSAY_TRY(error_of(other));
    if (error >= best_error_ * (1 - 1e-6)) return false;
    best_ = other;
    best_error_ = error;
    return true;
  }

  [[nodiscard]] core::Result<FittedCalibration> fitted() const {
    std::vector<double> tpot;
    std::vector<double> ratios;
    for (const CalibrationPoint& point : points_) {
      const MeasuredLatencies found = ASSAY_TRY(point.predict(best_));
      tpot.push_back(std::abs(found.tpot_ms / point.measured.tpot_ms - 1));
      ratios.push_back(point.measured.ttft_ms / found.ttft_ms);
    }
    FittedCalibration fitted{
        .calibration = best_, .points = points_.size(), .tpot_error = core::median(tpot)};
    fitted.calibration.ttft_factor = core::median(ratios);
    std::vector<double> ttft;
    for (const double ratio : ratios)
      ttft.push_back(std::abs(fitted.calibration.ttft_factor / ratio - 1));
    fitted.ttft_error = core::median(ttft);
    return fitted;
  }

  const std::vector<CalibrationPoint>& points_;
  Calibration best_;
  double best_error_ = 0;
};

}  // namespace

double CalibratedCost::ms(const Step& step) const {
  const double whole = calibration_.kernel_factor * cost_->ms(step);
  if (step.chunks.empty()) return calibration_.glue_ms + whole;
  const double decoding = calibration_.kernel_factor *
                          cost_->ms({.decodes = step.decodes, .decode_cached = step.decode_cached});
  return calibration_.glue_ms + decoding + calibration_.prompt_factor * (whole - decoding);
}

core::Result<FittedCalibration> fit_calibration(const std::vector<CalibrationPoint>& points) {
  if (points.empty()) return core::Error{"there is no measured deployment to calibrate by"};
  return Fit(points).run();
}

}  // namespace assay::plan
