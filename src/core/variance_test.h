// Tests of variances: whether samples have one spread, and whether groups have one mean.
#pragma once

#include <span>

namespace assay::core {

// Returns P(F >= f) of Fisher's F distribution.
double f_probability(double f, double numerator_freedom, double denominator_freedom);

// One sample's variance and its degrees of freedom.
struct SampleVariance {
  double variance = 0;
  double freedom = 0;
};

// Returns the variance of all samples together, weighted by their degrees of freedom.
SampleVariance pooled_variance(std::span<const SampleVariance> samples);

// Returns the p of equal spreads by Bartlett's test (M. S. Bartlett, Proceedings of the Royal
// Society A 160, 1937): 1 for fewer than two samples or no spread at all, 0 where some samples
// alone have none.
double equal_spread_probability(std::span<const SampleVariance> samples);

}  // namespace assay::core
