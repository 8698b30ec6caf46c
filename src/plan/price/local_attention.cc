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

std::vector<Chunks> cut_at_chunks(const Chunks& prompts, std::int64_t length) {
  std::vector<Chunks> parts;
  const auto add = [&](std::int64_t requests, std::int64_t new_tokens, std::int64_t cached) {
    if (requests > 0 && new_tokens > 0)
      parts.push_back({.requests = requests, .new_tokens = new_tokens, .cached_tokens = cached});
  };
  const std::int64_t begun = prompts.cached_tokens % length;
  const std::int64_t first = begun == 0 ? 0 : std::min(prompts.new_tokens, length - begun);
  const std::int64_t others = prompts.new_tokens - first;
  add(prompts.requests, first, begun);
  add(prompts.requests * (others / length), length, 0);
  add(prompts.requests, others % length, 0);
  return parts;
}

double keys_in_chunk(double cached, std::int64_t length) {
  const auto chunk = static_cast<double>(length);
  const double least = (1 - kSpread) * cached;
  const double most = (1 + kSpread) * cached;
  if (most <= chunk) return cached;
  return (keys_up_to(most, chunk) - keys_up_to(least, chunk)) / (most - least);
}

}  // namespace assay::plan
