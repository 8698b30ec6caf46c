#include "plan/search/rate_matching.h"

#include <algorithm>
#include <cmath>

namespace assay::plan {
namespace {

// Rates that should be equal differ in their last digits.
constexpr double kEqual = 1e-9;
// Larger copies must serve so much more than smaller ones: those are easier to run, and to scale.
constexpr double kWorthLarger = 1.02;

// Instances of prompts that keep up with a rate.
std::int64_t needed_for(double requests_per_s, const PoolRate& prefill) {
  return static_cast<std::int64_t>(
      std::ceil(requests_per_s / prefill.requests_per_s * (1 - kEqual)));
}

}  // namespace

std::int64_t least_copy_gpus(const PoolRate& prefill, const PoolRate& decode) {
  return needed_for(decode.requests_per_s, prefill) * prefill.gpus + decode.gpus;
}

std::optional<Ratio> best_ratio(const PoolRate& prefill,
                                const PoolRate& decode,
                                std::int64_t gpus,
                                std::int64_t most_copy_gpus) {
  const std::int64_t most = std::min(gpus, most_copy_gpus);
  std::optional<Ratio> best;
  for (std::int64_t count = 1; count * decode.gpus < most; ++count) {
    const double rate = static_cast<double>(count) * decode.requests_per_s;
    const std::int64_t needed = needed_for(rate, prefill);
    const std::int64_t of_copy = needed * prefill.gpus + count * decode.gpus;
    if (of_copy > most) break;
    const Ratio ratio{needed, count, gpus / of_copy, rate};
    if (!best || ratio.of_all() > best->of_all() * kWorthLarger) best = ratio;
  }
  return best;
}

MatchedRate matched_rate(const PoolRate& prefill,
                         const Ratio& ratio,
                         const PoolTimes& times,
                         double concurrency) {
  constexpr int kHalvings = 24;
  const auto instances = static_cast<double>(ratio.prefill);
  const double capacity = instances * prefill.requests_per_s;
  const double served_ms = times.prompt_ms + times.sent_ms;
  const auto waiting_ms = [&](double rate) {
    const double load = rate / capacity;
    return times.prompt_ms * load / (2 * (1 - load) * instances);
  };
  double low = 0;
  double high = std::min(capacity, ratio.requests_per_s);
  for (int i = 0; i < kHalvings; ++i) {
    const double rate = 0.5 * (low + high);
    const double stay_ms = waiting_ms(rate) + served_ms + times.answer_ms;
    (rate * stay_ms / 1000 < concurrency ? low : high) = rate;
  }
  return {.requests_per_s = low, .ttft_ms = waiting_ms(low) + served_ms};
}

}  // namespace assay::plan
