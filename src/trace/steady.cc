#include "trace/steady.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/statistics.h"

namespace assay::trace {
namespace {

// Estimates the standard deviation from deviations from the median.
double scale_of(const std::vector<double>& deviations) {
  // The median deviation of a normal distribution with a standard deviation of 1.
  constexpr double kNormalDeviation = 0.6745;
  // Croux and Rousseeuw's factors for up to 9 values.
  constexpr std::array<double, 10> kFactors = {1,     1,     1.196, 1.495, 1.363,
                                               1.206, 1.200, 1.140, 1.129, 1.107};
  const auto count = static_cast<double>(deviations.size());
  const double factor =
      deviations.size() < kFactors.size() ? kFactors[deviations.size()] : count / (count - 0.8);
  return factor * core::median(deviations) / kNormalDeviation;
}

}  // namespace

std::vector<bool> find_steady(std::span<const double> periods) {
  std::vector<bool> steady(periods.size(), true);
  if (periods.size() < kFewestForTransients) return steady;
  const double center = core::median(periods);
  std::vector<double> deviations;
  deviations.reserve(periods.size());
  for (const double period : periods)
    deviations.push_back(std::fabs(period - center));
  const double limit = std::max(kTransientDeviations * scale_of(deviations),
                                kTransientPercent / 100 * std::fabs(center));
  for (std::size_t i = 0; i < steady.size(); ++i)
    steady[i] = !(deviations[i] > limit);
  return steady;
}

double steady_period(std::span<const double> periods) {
  const std::vector<bool> steady = find_steady(periods);
  std::vector<double> kept;
  for (std::size_t i = 0; i < periods.size(); ++i)
    if (steady[i]) kept.push_back(periods[i]);
  return core::mean(kept);
}

}  // namespace assay::trace
