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

// Returns the confidence that each of several comparisons needs, so that all of them hold together
// with the confidence `together` (the Bonferroni correction).
double confidence_of_each(double together, std::size_t comparisons);

// Two-sided quantile of Student's t distribution: P(|T| <= t) = confidence.
double student_t(double confidence, double degrees_of_freedom);

// The inverse of student_t(): P(|T| <= t).
double student_confidence(double t, double degrees_of_freedom);

// The degrees of freedom of the difference of two means whose sides have variances (of the means)
// a and b and n values each. Student's n_a + n_b - 2 where the sides have equally many values and
// an F test at 5 % does not tell their spreads apart: Student's t and Welch's are then the same
// number. If it does, Welch's own estimate (B. L. Welch, Biometrika 34, 1947),
//   (a + b)^2 / (a^2 / (n_a + 1) + b^2 / (n_b + 1)) - 2,
// and at most n_a + n_b - 2. Where the sides have unequally many values, Satterthwaite's estimate
// (F. E. Satterthwaite, Biometrics Bulletin 2, 1946), Welch's without 1 and -2, and at most twice
// that of the smaller side: a spread of few values is often small by chance, and either estimate
// then trusts the other side's many.
//
// It errs, in 40,000 pairs of like with like where 5 % is asked for, in 4.9 % with three values a
// side and equal spreads, in 7 to 8 % if one spread is 3 to 10 times the other, and in 2 to 8 %
// with two or three values beside up to ten (Welch's own estimate in up to 14.5 %). Two values a
// side cannot tell unequal spreads: it then errs in 12 %.
double difference_freedom(double a, std::size_t count_a, double b, std::size_t count_b);

// Confidence interval of mean(test) - mean(baseline) by Welch's unequal-variances t test, with
// difference_freedom(). `valid` is false when either side has fewer than two values.
struct Difference {
  double difference = 0;
  double low = 0;
  double high = 0;
  bool valid = false;
  double error = 0;  // standard error of `difference`
  double degrees_of_freedom = 0;
};

Difference welch_difference(std::span<const double> baseline,
                            std::span<const double> test,
                            double confidence);

// The same by Student's t test, which takes the spread of both sides for one. A single value beside
// n others thus has theirs: the variance of the difference is s^2 (1 + 1/n), with n - 1 degrees of
// freedom. `valid` is false where no side has two values, or one has none.
Difference student_difference(std::span<const double> baseline,
                              std::span<const double> test,
                              double confidence);

}  // namespace assay::core
