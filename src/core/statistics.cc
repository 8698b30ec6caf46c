#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/variance_test.h"

namespace assay::core {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double squared_deviations(std::span<const double> values) {
  const double center = mean(values);
  return std::accumulate(values.begin(), values.end(), 0.0, [center](double total, double value) {
    return total + (value - center) * (value - center);
  });
}

// Continued fraction of the incomplete beta function (Lentz; Numerical Recipes, section 6.4).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double fraction = d;
  for (int m = 1; m <= 300; ++m) {
    for (const double numerator : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                   -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 + numerator * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + numerator / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      fraction *= d * c;
    }
    if (std::fabs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

// std::lgamma writes a global sign that threads would share.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// Returns P(X >= x) of the chi-square distribution, by the series of the incomplete gamma function.
double chi_square_probability(double x, double freedom) {
  if (x <= 0) return 1;
  const double a = freedom / 2;
  const double half = x / 2;
  if (half > 2 * a + 700) return 0;  // the series would overflow
  double term = 1 / a;
  double series = term;
  for (int n = 1; n < 10'000 && term > series * 1e-16; ++n) {
    term *= half / (a + n);
    series += term;
  }
  return std::max(1 - series * std::exp(a * std::log(half) - half - log_gamma(a)), 0.0);
}

double probability_within(double t, double degrees_of_freedom) {
  return 1 - incomplete_beta(degrees_of_freedom / 2, 0.5,
                             degrees_of_freedom / (degrees_of_freedom + t * t));
}

// Whether an F test at 5 %, two-sided, tells two variances with equal degrees of freedom apart.
bool spreads_differ(double a, double b, double degrees_of_freedom) {
  constexpr double kTail = 0.025;
  const double larger = std::max(a, b);
  const double half = degrees_of_freedom / 2;
  return incomplete_beta(half, half, std::min(a, b) / (larger + std::min(a, b))) < kTail;
}

// The number of values at either end that lie outside of the median's interval, and the probability
// that the median does so, too: it is below the (k+1)th of n values with probability
// P(Binomial(n, 1/2) <= k).
struct Outside {
  std::size_t values = 0;
  double probability = 0;  // on one side
};

Outside outside_of(std::size_t count, double tail) {
  const auto n = static_cast<double>(count);
  Outside outside{.values = 0, .probability = std::exp2(-n)};
  double below = 0;
  for (std::size_t k = 0; 2 * (k + 1) <= count; ++k) {
    const auto successes = static_cast<double>(k);
    below += std::exp(std::lgamma(n + 1) - std::lgamma(successes + 1) -
                      std::lgamma(n - successes + 1) - n * std::log(2.0));
    if (below > tail) break;
    outside = {.values = k, .probability = below};
  }
  return outside;
}

Difference without_interval(double difference) {
  return {difference, kNaN, kNaN, false, kNaN, kNaN};
}

Difference with_interval(double difference, double error, double freedom, double confidence) {
  if (error == 0) return {difference, difference, difference, true, 0, kNaN};
  const double half = student_t(confidence, freedom) * error;
  return {difference, difference - half, difference + half, true, error, freedom};
}

}  // namespace

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double mean(std::span<const double> values) {
  return values.empty() ? kNaN : sum(values) / static_cast<double>(values.size());
}

double median(std::span<const double> values) {
  if (values.empty()) return kNaN;
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1) return *middle;
  return (*std::max_element(sorted.begin(), middle) + *middle) / 2;
}

double quantile(std::span<const double> values, double part) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double minimum(std::span<const double> values) {
  return values.empty() ? kNaN : *std::min_element(values.begin(), values.end());
}

double maximum(std::span<const double> values) {
  return values.empty() ? kNaN : *std::max_element(values.begin(), values.end());
}

Interval median_interval(std::vector<double> values, double tail) {
  if (values.empty()) return {kNaN, kNaN};
  std::sort(values.begin(), values.end());
  const std::size_t outside = outside_of(values.size(), tail).values;
  return {values[outside], values[values.size() - 1 - outside]};
}

double median_confidence(std::size_t count, double tail) {
  if (count == 0) return kNaN;
  return 1 - 2 * outside_of(count, tail).probability;
}

double sample_deviation(std::span<const double> values) {
  if (values.size() < 2) return kNaN;
  return std::sqrt(squared_deviations(values) / static_cast<double>(values.size() - 1));
}

double population_deviation(std::span<const double> values) {
  if (values.empty()) return kNaN;
  return std::sqrt(squared_deviations(values) / static_cast<double>(values.size()));
}

double confidence_of_each(double together, std::size_t comparisons) {
  return 1 - (1 - together) / static_cast<double>(std::max<std::size_t>(comparisons, 1));
}

double student_t(double confidence, double degrees_of_freedom) {
  double low = 0;
  double high = 1;
  while (probability_within(high, degrees_of_freedom) < confidence && high < 1e12)
    high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (probability_within(middle, degrees_of_freedom) < confidence ? low : high) = middle;
  }
  return (low + high) / 2;
}

double student_confidence(double t, double degrees_of_freedom) {
  return probability_within(t, degrees_of_freedom);
}

double difference_freedom(double a, std::size_t count_a, double b, std::size_t count_b) {
  const auto first = static_cast<double>(count_a);
  const auto second = static_cast<double>(count_b);
  const double square = (a + b) * (a + b);
  if (count_a != count_b)
    return std::min(square / (a * a / (first - 1) + b * b / (second - 1)),
                    2 * (std::min(first, second) - 1));
  const double most = first + second - 2;
  if (!spreads_differ(a, b, first - 1)) return most;
  return std::min(square / (a * a / (first + 1) + b * b / (second + 1)) - 2, most);
}

Difference welch_difference(std::span<const double> baseline,
                            std::span<const double> test,
                            double confidence) {
  const double difference = mean(test) - mean(baseline);
  if (baseline.size() < 2 || test.size() < 2) return without_interval(difference);
  const auto variance_of_mean = [](std::span<const double> values) {
    const auto n = static_cast<double>(values.size());
    return squared_deviations(values) / (n - 1) / n;
  };
  const double a = variance_of_mean(baseline);
  const double b = variance_of_mean(test);
  return with_interval(difference, std::sqrt(a + b),
                       difference_freedom(a, baseline.size(), b, test.size()), confidence);
}

Difference student_difference(std::span<const double> baseline,
                              std::span<const double> test,
                              double confidence) {
  const double difference = mean(test) - mean(baseline);
  const auto a = static_cast<double>(baseline.size());
  const auto b = static_cast<double>(test.size());
  const double freedom = a + b - 2;
  if (a == 0 || b == 0 || freedom == 0) return without_interval(difference);
  const double squares = squared_deviations(baseline) + squared_deviations(test);
  return with_interval(difference, std::sqrt(squares / freedom * (1 / a + 1 / b)), freedom,
                       confidence);
}

double f_probability(double f, double numerator_freedom, double denominator_freedom) {
  if (f <= 0) return 1;
  return incomplete_beta(denominator_freedom / 2, numerator_freedom / 2,
                         denominator_freedom / (denominator_freedom + numerator_freedom * f));
}

SampleVariance pooled_variance(std::span<const SampleVariance> samples) {
  double squares = 0;
  double freedom = 0;
  for (const SampleVariance& sample : samples) {
    squares += sample.variance * sample.freedom;
    freedom += sample.freedom;
  }
  return {squares / freedom, freedom};
}

double equal_spread_probability(std::span<const SampleVariance> samples) {
  const SampleVariance pooled = pooled_variance(samples);
  if (samples.size() < 2 || pooled.variance == 0) return 1;
  double logarithms = 0;
  double reciprocals = 0;
  for (const SampleVariance& sample : samples) {
    if (sample.variance == 0) return 0;
    logarithms += sample.freedom * std::log(sample.variance / pooled.variance);
    reciprocals += 1 / sample.freedom;
  }
  const auto others = static_cast<double>(samples.size() - 1);
  const double correction = 1 + (reciprocals - 1 / pooled.freedom) / (3 * others);
  return chi_square_probability(-logarithms / correction, others);
}

}  // namespace assay::core
