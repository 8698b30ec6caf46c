#include "plan/price/local_attention.h"

#include <cmath>

namespace assay::plan {
namespace {

constexpr double kSpread = 0.1;

// The keys of all requests together that have 0 to `cached` tokens, one each.
double keys_up_to(double cached, double length) {
  const double chunks = std::floor(cached / length);
  const double rest = cached - chunks * length;
  return 0.5 * (chunks * length * length + rest * rest);
}

}  // namespace

double keys_in_chunk(double cached, std::int64_t length) {
  const auto chunk = static_cast<double>(length);
  const double least = (1 - kSpread) * cached;
  const double most = (1 + kSpread) * cached;
  if (most <= chunk) return cached;
  return (keys_up_to(most, chunk) - keys_up_to(least, chunk)) / (most - least);
}

}  // namespace assay::plan
