#include "trace/attribution/resolution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"

namespace assay::trace::attribution {
namespace {

constexpr double kClockMs = 0.001;
constexpr double kShareOfChange = 0.01;
constexpr double kShareOfStep = 0.001;
constexpr double kShareOfPart = 0.01;
// Tells a value from its neighbour although doubles round both.
constexpr double kRounding = 1e-9;

double magnitude(double value) {
  return std::pow(10, std::floor(std::log10(value) + kRounding));
}

double variance_of_mean(const std::vector<double>& values) {
  const double deviation = core::sample_deviation(values);
  return deviation * deviation / static_cast<double>(values.size());
}

// One value a side tells no spread: the other limits decide.
double standard_error_ms(const Repetitions& repetitions) {
  const double variance = variance_of_mean(repetitions.a_ms) + variance_of_mean(repetitions.b_ms);
  return std::isnan(variance) ? std::numeric_limits<double>::infinity() : std::sqrt(variance);
}

}  // namespace

double rounded_up(double value) {
  const double unit = magnitude(value);
  return std::ceil(value / unit - kRounding) * unit;
}

double rounded_beside(double value, double largest) {
  constexpr double kUnitsOfFirstDigit = 1000;  // of the fourth digit
  const bool has_three_digits = std::fabs(value) * 10 >= magnitude(largest);
  if (has_three_digits || !(largest > 0)) return value;
  const double units = kUnitsOfFirstDigit / magnitude(largest);
  const double rounded = std::round(value * units) / units;
  return rounded == 0 ? 0 : rounded;  // never minus zero
}

bool rounds_to_nothing(double value, double largest) {
  return rounded_beside(value, largest) == 0 || std::fabs(value) < kClockMs / 2;
}

double largest_change_ms(const Attribution& attribution) {
  double largest = std::fabs(attribution.total_ms());
  for (const double change : attribution.change_ms)
    largest = std::max(largest, std::fabs(change));
  return largest;
}

double resolution_ms(const Attribution& attribution, const Repetitions& repetitions) {
  const double of_change = kShareOfChange * largest_change_ms(attribution);
  const double of_step = kShareOfStep * std::max(attribution.a_ms, attribution.b_ms);
  return rounded_up(
      std::max(kClockMs, std::min({of_change, of_step, standard_error_ms(repetitions)})));
}

std::array<double, kCauses> least_details_ms(const Attribution& attribution) {
  std::array<double, kCauses> least = {};
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    const double of_part = kShareOfPart * std::fabs(attribution.change_ms[cause]);
    const double of_told = std::min(attribution.resolution_ms, std::max(kClockMs, of_part));
    least[cause] = attribution.tells(cause) ? of_told : attribution.resolution_ms;
  }
  return least;
}

}  // namespace assay::trace::attribution
