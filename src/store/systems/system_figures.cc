#include "store/systems/system_figures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/statistics.h"

namespace assay::store {
namespace {

constexpr std::size_t kFewestPoints = 3;  // two lie on a line whatever they are

struct Line {
  double intercept = 0;
  double slope = 0;
};

// Nothing where all x are alike.
std::optional<Line> fitted_line(std::span<const double> x, std::span<const double> y) {
  const double mean_x = core::mean(x);
  const double mean_y = core::mean(y);
  double variance = 0;
  double covariance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    variance += (x[i] - mean_x) * (x[i] - mean_x);
    covariance += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (variance <= 0) return std::nullopt;
  const double slope = covariance / variance;
  return Line{.intercept = mean_y - slope * mean_x, .slope = slope};
}

}  // namespace

std::optional<Rate> best_rate(std::span<const Point> points, double least_amount) {
  std::optional<Rate> best;
  std::size_t count = 0;
  for (const Point& point : points) {
    if (point.amount < least_amount || point.amount <= 0) continue;
    ++count;
    const double rate = point.amount / point.seconds;
    if (!best || rate > best->per_second) best = Rate{.per_second = rate, .best = point};
  }
  if (best) best->count = count;
  return best;
}

std::optional<Latency> constant_latency(std::span<const Point> points, double most_amount) {
  std::vector<double> amounts;
  std::vector<double> seconds;
  for (const Point& point : points) {
    if (point.amount > most_amount) continue;
    amounts.push_back(point.amount);
    seconds.push_back(point.seconds);
  }
  if (amounts.size() < kFewestPoints) return std::nullopt;
  const std::optional<Line> line = fitted_line(amounts, seconds);
  if (!line || line->intercept <= 0) return std::nullopt;
  std::vector<double> deviations;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const double expected = line->intercept + line->slope * amounts[i];
    deviations.push_back(std::fabs(seconds[i] - expected) / line->intercept);
  }
  return Latency{
      .seconds = line->intercept, .count = amounts.size(), .deviation = core::median(deviations)};
}

std::optional<Latency> median_latency(std::span<const Point> points) {
  std::vector<double> seconds;
  for (const Point& point : points) {
    if (point.amount == 0) seconds.push_back(point.seconds);
  }
  if (seconds.empty()) return std::nullopt;
  const double median = core::median(seconds);
  std::vector<double> deviations;
  for (const double time : seconds)
    deviations.push_back(std::fabs(time - median) / median);
  return Latency{.seconds = median, .count = seconds.size(), .deviation = core::median(deviations)};
}

}  // namespace assay::store
