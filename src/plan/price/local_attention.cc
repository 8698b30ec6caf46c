#include "plan/price/local_attention.h"

#include <algorithm>
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

double keys_in_chunk(double cached, std::int64_t length, std::int64_t most_tokens) {
  const auto chunk = static_cast<double>(length);
  double spread = kSpread * cached;
  if (most_tokens > 0) spread = std::clamp(static_cast<double>(most_tokens) - cached, 0.0, spread);
  const double least = cached - spread;
  const double most = cached + spread;
  if (most <= chunk) return cached;
  if (spread < 1) return std::fmod(cached, chunk);
  return (keys_up_to(most, chunk) - keys_up_to(least, chunk)) / (most - least);
}

}  // namespace assay::plan
