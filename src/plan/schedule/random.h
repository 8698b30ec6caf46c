// Random numbers that are the same on every machine: the standard leaves to each library what its
// distributions make of a generator.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace assay::plan {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // In (0, 1).
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }

  // Box and Muller's method.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  // With the mean 1; G. Marsaglia and W. W. Tsang, ACM Trans. Math. Software 26, 2000. A shape
  // below 1 is one above 1 times a power of a uniform number.
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * (shape + 1) / shape * std::pow(uniform(), 1 / shape);
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal();
      const double v = std::pow(1 + c * x, 3);
      if (v > 0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
        return d * v / shape;
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace assay::plan
