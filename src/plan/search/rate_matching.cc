#include "plan/search/rate_matching.h"

#include <algorithm>
#include <cmath>

namespace assay::plan {
namespace {

// Rates that should be equal differ in their last digits.
constexpr double kEqual = 1e-9;

}  // namespace

std::optional<Ratio> best_ratio(const PoolRate& prefill,
                                const PoolRate& decode,
                                std::int64_t gpus) {
  std::optional<Ratio> best;
  for (std::int64_t count = 1; count * decode.gpus < gpus; ++count) {
    const double rate = static_cast<double>(count) * decode.requests_per_s;
    const auto needed =
        static_cast<std::int64_t>(std::ceil(rate / prefill.requests_per_s * (1 - kEqual)));
    const std::int64_t of_copy = needed * prefill.gpus + count * decode.gpus;
    if (of_copy > gpus) break;
    const Ratio ratio{needed, count, gpus / of_copy, rate};
    if (!best || ratio.of_all() > best->of_all() * (1 + kEqual)) best = ratio;
  }
  return best;
}

double waiting_ms(const PoolRate& prefill, const Ratio& ratio, double prompt_ms, double answer_ms) {
  const auto instances = static_cast<double>(ratio.prefill);
  const double load = ratio.requests_per_s / (instances * prefill.requests_per_s);
  if (load >= 1) return answer_ms;
  return std::min(answer_ms, prompt_ms * load / (2 * (1 - load) * instances));
}

}  // namespace assay::plan
