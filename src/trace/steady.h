// Which of some consecutive steps show the steady state, by their periods.
#pragma once

#include <span>
#include <vector>

namespace assay::trace {

// A step is transient when its period lies farther from the median of all than both
//   3.5 scaled median deviations: |x - median| > 3.5 MAD / 0.6745 (B. Iglewicz and D. Hoaglin, How
//   to Detect and Handle Outliers, 1993), which up to half of the steps cannot distort, and
//   2 % of the median: a smaller transient changes a mean of three steps by less than 1 %.
inline constexpr double kTransientDeviations = 3.5;
inline constexpr double kTransientPercent = 2;

// Two steps that differ do not tell which of them is the usual one.
inline constexpr std::size_t kFewestForTransients = 3;

// Returns for each step whether it belongs to the steady state; at least half of them do. All do
// where there are fewer than kFewestForTransients.
std::vector<bool> find_steady(std::span<const double> periods);

// Returns the mean of the steady periods; NaN for no steps.
double steady_period(std::span<const double> periods);

}  // namespace assay::trace
