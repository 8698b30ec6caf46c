#include "plan/uncertainty/error_bars.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace assay::plan {
namespace {

// A normal error is within so many sigmas of zero with a chance of 80 %.
constexpr double kSigmas = 1.2816;

// Ends of a bar, as logarithms of measured over predicted; both at least 0.
struct Ends {
  double below = 0;
  double above = 0;
};

// Errors that every prediction of a kind has, and those that only the time in experts has: how
// tokens choose them, and which kernel an engine takes.
struct ModelErrors {
  Ends common = {};
  Ends experts = {};  // of a step that is nothing but experts
};

struct LatencyErrors {
  ModelErrors ttft;
  ModelErrors tpot;
};

// Found by tools/plan_error_bars.py on measured deployments of Qwen3-32B and gpt-oss-120b, and
// judged on those of Llama-3.1-70B and DeepSeek-R1: docs/accuracy.md, "Error bars".
constexpr LatencyErrors kOfEngineTables = {
    .ttft = {.common = {.below = 0.227, .above = 0.244}, .experts = {.below = 0, .above = 1.504}},
    .tpot = {.common = {.below = 0.027, .above = 0.201},
             .experts = {.below = 0.590, .above = 0.590}}};
constexpr LatencyErrors kOfKernels = {.ttft = {.common = {.below = 0, .above = 0.811}},
                                      .tpot = {.common = {.below = 0, .above = 0.434}}};
constexpr LatencyErrors kOfCalibrated = {.ttft = {.common = {.below = 0.162, .above = 0.320}},
                                         .tpot = {.common = {.below = 0.113, .above = 0.169}}};

double together(double a, double b, double c) {
  return std::sqrt(a * a + b * b + c * c);
}

ErrorBar bar_of(const ModelErrors& errors, const StepParts& parts, double own_sigma) {
  const double share = parts.experts_share();
  const double own = kSigmas * own_sigma;
  const double below = together(errors.common.below, share * errors.experts.below, own);
  const double above = together(errors.common.above, share * errors.experts.above, own);
  return {.low = std::exp(-below), .high = std::exp(above)};
}

// One sigma for another deployment, from the median error of a few points: theirs is 1.4826 times
// that if they are normal, and few of them tell it badly (Student's t). Points that are off by
// whole factors tell no more than that it is of no use.
double sigma_of_points(double median_error, std::size_t points) {
  constexpr double kSigmaOfMedian = 1.4826;
  constexpr std::array<double, 9> kStudent = {3.078, 1.886, 1.638, 1.533, 1.476,
                                              1.440, 1.415, 1.397, 1.383};
  const std::size_t freedom = std::max<std::size_t>(points, 2) - 1;
  const double student = freedom > kStudent.size() ? kSigmas : kStudent.at(freedom - 1);
  return std::min(1.0, student / kSigmas * kSigmaOfMedian * median_error);
}

// So many sigmas a normal value stays below with this chance,
// by Newton's steps from the middle, which come from one side and do not leave it. A search asks
// this of every deployment.
double normal_sigmas(double chance) {
  constexpr double kEnough = 1e-12;
  constexpr int kMostSteps = 50;
  double sigmas = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    const double below = 0.5 * std::erfc(-sigmas / std::sqrt(2.0));
    const double density = std::exp(-0.5 * sigmas * sigmas) / std::sqrt(2 * std::numbers::pi);
    const double step = (chance - below) / density;
    sigmas += step;
    if (std::abs(step) < kEnough) break;
  }
  return sigmas;
}

}  // namespace

double ErrorBar::at_most(double chance) const {
  if (!is_known()) return 1;
  const double middle = 0.5 * (std::log(low) + std::log(high));
  const double half = 0.5 * (std::log(high) - std::log(low));
  return std::exp(middle + normal_sigmas(chance) / kSigmas * half);
}

double ErrorBar::chance_of(double factor) const {
  if (!is_known()) return factor >= 1 ? 1 : 0;
  const double middle = 0.5 * (std::log(low) + std::log(high));
  const double sigma = 0.5 * (std::log(high) - std::log(low)) / kSigmas;
  return 0.5 * std::erfc((middle - std::log(factor)) / (sigma * std::sqrt(2.0)));
}

OwnSigmas own_sigmas(const LoadParts& parts, const std::optional<CalibrationErrors>& calibrated) {
  if (!calibrated) return {.ttft = parts.prompt.price_sigma, .tpot = parts.mean.price_sigma};
  return {.ttft = sigma_of_points(calibrated->ttft, calibrated->points),
          .tpot = sigma_of_points(calibrated->tpot, calibrated->points)};
}

LatencyBars latency_bars(const LoadParts& parts,
                         const std::optional<CalibrationErrors>& calibrated) {
  const OwnSigmas own = own_sigmas(parts, calibrated);
  const LatencyErrors& errors = calibrated                   ? kOfCalibrated
                                : parts.mean.is_of_kernels() ? kOfKernels
                                                             : kOfEngineTables;
  return {.ttft = bar_of(errors.ttft, parts.prompt, own.ttft),
          .tpot = bar_of(errors.tpot, parts.mean, own.tpot)};
}

ErrorBar rate_bar(const LatencyBars& bars,
                  double ttft_ms,
                  double tpot_ms,
                  std::int64_t output_tokens) {
  const auto further = static_cast<double>(std::max<std::int64_t>(0, output_tokens - 1));
  const auto request_ms = [&](double ttft_factor, double tpot_factor) {
    return ttft_factor * ttft_ms + further * tpot_factor * tpot_ms;
  };
  const double predicted = request_ms(1, 1);
  return {.low = predicted / request_ms(bars.ttft.high, bars.tpot.high),
          .high = predicted / request_ms(bars.ttft.low, bars.tpot.low)};
}

}  // namespace assay::plan
