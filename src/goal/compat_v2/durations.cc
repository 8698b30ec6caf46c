#include "goal/compat_v2/durations.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay::goal::compat_v2 {
namespace {

// A number in [0, 1) that depends on nothing but its arguments (splitmix64).
double uniform(std::uint64_t seed, std::uint64_t draw) {
  std::uint64_t x = seed + (draw + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  x ^= x >> 31U;
  return static_cast<double>(x >> 11U) * 0x1p-53;
}

// Box and Muller's.
double gauss(std::uint64_t seed, std::uint64_t draw) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(seed, draw)));
  return radius * std::cos(2 * std::numbers::pi * uniform(~seed, draw));
}

double at_point(const CostCurve::Point& point, const CostChoice& choice, std::uint64_t draw) {
  if (choice.kind == CostChoice::Kind::kMean || point.sorted_ns.empty()) return point.mean_ns;
  const double quantile =
      choice.kind == CostChoice::Kind::kSample ? uniform(choice.seed, draw) : choice.quantile;
  const auto size = static_cast<double>(point.sorted_ns.size());
  const auto index = static_cast<std::size_t>(std::clamp(quantile * size, 0.0, size - 1));
  return point.sorted_ns[index];
}

double between(const CostCurve::Point& low,
               const CostCurve::Point& high,
               double bytes,
               const CostChoice& choice,
               std::uint64_t draw) {
  const double slope = (high.mean_ns - low.mean_ns) / (high.bytes - low.bytes);
  const double mean = slope * (bytes - low.bytes) + low.mean_ns;
  constexpr double kNoise = 0.01;
  if (choice.kind != CostChoice::Kind::kSample) return mean;
  return mean + mean * kNoise * gauss(choice.seed, draw);
}

}  // namespace

std::uint64_t duration_ns(const CostCurve& curve,
                          const CostChoice& choice,
                          std::uint64_t bytes,
                          std::uint64_t draw) {
  const auto& points = curve.points();
  if (points.empty()) return 0;
  const auto size = static_cast<double>(bytes);
  const auto above =
      std::lower_bound(points.begin(), points.end(), size,
                       [](const CostCurve::Point& point, double x) { return point.bytes < x; });
  double duration = 0;
  if (above == points.end()) {
    duration = at_point(points.back(), choice, draw);
  } else if (above == points.begin() || above->bytes == size) {
    duration = at_point(*above, choice, draw);
  } else {
    duration = between(*(above - 1), *above, size, choice, draw);
  }
  // As the generator does: towards zero.
  return static_cast<std::uint64_t>(std::max(duration, 0.0));
}

}  // namespace assay::goal::compat_v2
