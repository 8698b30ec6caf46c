#include "trace/steady.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"

namespace assay::trace {

std::vector<bool> find_steady(std::span<const double> periods) {
  std::vector<bool> steady(periods.size(), true);
  if (periods.size() < kFewestForTransients) return steady;
  // The median deviation of a normal distribution with a standard deviation of 1.
  constexpr double kNormalDeviation = 0.6745;
  const double center = core::median(periods);
  std::vector<double> deviations;
  deviations.reserve(periods.size());
  for (const double period : periods)
    deviations.push_back(std::fabs(period - center));
  const double limit = std::max(kTransientDeviations * core::median(deviations) / kNormalDeviation,
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
