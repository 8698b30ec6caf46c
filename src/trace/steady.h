// Which of some consecutive steps show the steady state, by their periods.
#pragma once

#include <span>
#include <vector>

namespace assay::trace {

// A step is transient when its period lies farther from the median of all than both
//   3 standard deviations as the median deviation estimates them, which up to half of the steps
//   cannot distort (C. Leys and others, Detecting Outliers: Do not Use Standard Deviation around
//   the Mean, 2013), with the factors that make it unbiased for few values (C. Croux and P.
//   Rousseeuw, Time-Efficient Algorithms for Two Highly Robust Estimators of Scale, 1992), and 2 %
//   of the median: a smaller transient changes a mean of three steps by less than 1 %.
inline constexpr double kTransientDeviations = 3;
inline constexpr double kTransientPercent = 2;

// Two steps that differ do not tell which of them is the usual one.
inline constexpr std::size_t kFewestForTransients = 3;

// Among fewer steps than this, chance alone makes one of them lie far from two that lie close
// together. Only the first step of a profile, which begins after a wait, is then transient by its
// period alone; others need a cause that the trace shows.
inline constexpr std::size_t kFewestWithoutCause = 5;

// Steps behind the first ones of a run that are more than this part are no exceptions but another
// mode of the work (other batches, every n-th step): without them its time would be that of one
// mode.
inline constexpr double kMostTransientPercent = 20;

// Returns for each step whether it belongs to the steady state; at least half of them do. All do
// where there are fewer than kFewestForTransients.
std::vector<bool> find_steady(std::span<const double> periods);

// Returns the mean of the steady periods; NaN for no steps.
double steady_period(std::span<const double> periods);

}  // namespace assay::trace
