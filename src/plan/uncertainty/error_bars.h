// Error bars of predicted deployments: where the measurement lies with a chance of 80 %.
//
// What is known of a prediction's error comes from three places: prices of rows between measured
// ones have a sigma (StepParts::price_sigma); what else errs (versions, hosts, schedulers, and how
// tokens choose experts) was found on measured deployments of other models (error_bars.cc); and a
// calibration tells how far it is off on the deployments that it was fitted to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "plan/uncertainty/step_parts.h"

namespace assay::plan {

struct Interval {
  double low = 0;
  double high = 0;
};

// Factors of a prediction.
struct ErrorBar {
  double low = 1;
  double high = 1;

  [[nodiscard]] Interval of(double prediction) const {
    return {low * prediction, high * prediction};
  }

  // A bar without a width is none: nobody told what the prediction is made of.
  [[nodiscard]] bool is_known() const { return low < high; }

  // The factor that the measurement does not exceed with this chance, in (0, 1): at 0.9 the upper
  // end. The logarithm is taken to be normal between the ends.
  [[nodiscard]] double at_most(double chance) const;

  // The inverse: the chance that the measurement does not exceed this factor.
  [[nodiscard]] double chance_of(double factor) const;

  [[nodiscard]] double half_width() const { return 0.5 * (high - low); }
};

// How far a calibrated prediction is off on the points that calibrated it.
struct CalibrationErrors {
  std::size_t points = 0;
  double ttft = 0;  // medians of absolute errors, as shares
  double tpot = 0;
};

// One sigma of a prediction's logarithm, as far as it is known of this prediction alone: of its
// prices, or of the points that calibrated it.
struct OwnSigmas {
  double ttft = 0;
  double tpot = 0;
};

OwnSigmas own_sigmas(const LoadParts& parts, const std::optional<CalibrationErrors>& calibrated);

struct LatencyBars {
  ErrorBar ttft;
  ErrorBar tpot;
};

LatencyBars latency_bars(const LoadParts& parts,
                         const std::optional<CalibrationErrors>& calibrated = std::nullopt);

// The bar of tokens and requests per second: requests stay in flight, so that the rate goes with
// one over a request's time. Both latencies are taken at the same end of their bars, since what
// makes a step slow makes both slow.
ErrorBar rate_bar(const LatencyBars& bars,
                  double ttft_ms,
                  double tpot_ms,
                  std::int64_t output_tokens);

}  // namespace assay::plan
