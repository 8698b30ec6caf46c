// Small-sample statistics. Empty input gives NaN.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay::core {

double sum(std::span<const double> values);
double mean(std::span<const double> values);
double median(std::span<const double> values);
// Interpolates linearly between the two nearest values (R's type 7); `part` is in [0, 1].
double quantile(std::span<const double> values, double part);
double minimum(std::span<const double> values);
double maximum(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

// An interval that holds the median with a probability of at least 1 - 2 tail, by order statistics
// (binomial). It spans all values where they are too few for `tail`: five values reach 93.75 %.
Interval median_interval(std::vector<double> values, double tail);

// The probability with which that interval of `count` independent values holds the median: 0.984 of
// seven, 0.9375 of five, 0 of one. NaN for none.
double median_confidence(std::size_t count, double tail);

// The tail of what assay calls the interval of a median: at least 95 % from six values on.
inline constexpr double kMedianTail = 0.025;

// Standard deviation of a sample (divides by n-1); NaN for fewer than two values.
double sample_deviation(std::span<const double> values);

// Standard deviation of a whole population (divides by n).
double population_deviation(std::span<const double> values);

// Two-sided quantile of Student's t distribution: P(|T| <= t) = confidence.
double student_t(double confidence, double degrees_of_freedom);

// Confidence interval of mean(test) - mean(baseline) by Welch's unequal-variances t test
// (B. L. Welch, 1947). `valid` is false when either side has fewer than two values.
struct Difference {
  double difference = 0;
  double low = 0;
  double high = 0;
  bool valid = false;
};

Difference welch_difference(std::span<const double> baseline,
                            std::span<const double> test,
                            double confidence);

}  // namespace assay::core
