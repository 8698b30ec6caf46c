#include "collect/moe_routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace assay::collect {
namespace {

constexpr std::uint64_t kSeed = 42;
constexpr int kDraws = 5;

std::vector<std::int64_t> counts_of(const std::vector<std::int32_t>& experts, std::int64_t count) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(count));
  for (const std::int32_t expert : experts)
    ++counts[static_cast<std::size_t>(expert)];
  return counts;
}

// Token t's choice i is expert t + i * stride, so that all get the same share.
ExpertChoice balanced(const MoeSpec& spec) {
  const std::int64_t stride = (spec.experts + spec.top_k - 1) / spec.top_k;
  ExpertChoice choice;
  for (std::int64_t token = 0; token < spec.tokens; ++token) {
    const std::int64_t first = spec.tokens < stride ? token * stride / spec.tokens : token;
    std::vector<bool> taken(static_cast<std::size_t>(spec.experts));
    for (std::int64_t i = 0; i < spec.top_k; ++i) {
      std::int64_t expert = (first + i * stride) % spec.experts;
      // Where top_k does not divide the experts, the last choices may come round to the first.
      while (taken[static_cast<std::size_t>(expert)])
        expert = (expert + 1) % spec.experts;
      taken[static_cast<std::size_t>(expert)] = true;
      choice.experts.push_back(static_cast<std::int32_t>(expert));
    }
  }
  choice.tokens_of_expert = counts_of(choice.experts, spec.experts);
  return choice;
}

// Uniform in [0, 1), the same with every standard library.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11U) * 0x1p-53;
}

// Inverse of the cumulative distribution of x^-exponent on [low, high].
double power_law_sample(double u, double exponent, double low, double high) {
  if (std::fabs(exponent - 1) < 1e-9) return low * std::pow(high / low, u);
  const double power = 1 - exponent;
  const double begin = std::pow(low, power);
  return std::pow(begin + u * (std::pow(high, power) - begin), 1 / power);
}

// Rounding and the limit of `tokens` an expert changed the sum: one at a time, GPU by GPU in turn.
void fix_sum(const MoeSpec& spec, std::vector<std::int64_t>& counts) {
  const std::int64_t per_gpu = spec.experts / spec.ep;
  std::int64_t missing =
      spec.tokens * spec.top_k - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (std::int64_t turn = 0; missing != 0; turn = (turn + 1) % spec.experts) {
    const std::int64_t expert = turn % spec.ep * per_gpu + turn / spec.ep;
    std::int64_t& tokens = counts[static_cast<std::size_t>(expert)];
    if (missing > 0 && tokens < spec.tokens) {
      ++tokens;
      --missing;
    } else if (missing < 0 && tokens > 0) {
      --tokens;
      ++missing;
    }
  }
}

std::vector<std::int64_t> power_law_counts(const MoeSpec& spec, std::uint64_t seed) {
  const std::int64_t all = spec.tokens * spec.top_k;
  const bool few = all <= spec.experts;
  const double low = few ? 0.01 : 1.0;
  const double high = few ? 2.0 : std::max(0.8 * static_cast<double>(spec.tokens), 1.0);
  std::mt19937_64 random(seed);
  std::vector<double> shares;
  for (std::int64_t expert = 0; expert < spec.experts; ++expert)
    shares.push_back(power_law_sample(uniform(random), spec.exponent, low, high));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<std::int64_t> counts;
  for (const double share : shares)
    counts.push_back(
        std::min<std::int64_t>(std::llround(share / sum * static_cast<double>(all)), spec.tokens));
  fix_sum(spec, counts);
  return counts;
}

// Experts by their counts, each as often as its count, fill the choices column by column: no token
// gets an expert twice, since none has more than `tokens`.
ExpertChoice spread(const MoeSpec& spec, std::vector<std::int64_t> counts) {
  std::vector<std::int32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&counts](std::int32_t a, std::int32_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  ExpertChoice choice;
  choice.experts.resize(static_cast<std::size_t>(spec.tokens * spec.top_k));
  std::int64_t at = 0;
  for (const std::int32_t expert : order) {
    for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(expert)]; ++i, ++at) {
      const std::int64_t token = at % spec.tokens;
      choice.experts[static_cast<std::size_t>(token * spec.top_k + at / spec.tokens)] = expert;
    }
  }
  choice.tokens_of_expert = std::move(counts);
  return choice;
}

std::int64_t busiest_gpu(const ExpertChoice& choice, std::int64_t ep) {
  std::int64_t busiest = 0;
  for (std::int64_t gpu = 1; gpu < ep; ++gpu) {
    if (choice.tokens_of_gpu(gpu, ep) > choice.tokens_of_gpu(busiest, ep)) busiest = gpu;
  }
  return busiest;
}

ExpertChoice median_draw(const MoeSpec& spec) {
  std::vector<ExpertChoice> draws;
  for (int draw = 0; draw < kDraws; ++draw)
    draws.push_back(spread(spec, power_law_counts(spec, kSeed + static_cast<std::uint64_t>(draw))));
  const auto load = [&spec](const ExpertChoice& choice) {
    return choice.tokens_of_gpu(busiest_gpu(choice, spec.ep), spec.ep);
  };
  std::stable_sort(
      draws.begin(), draws.end(),
      [&load](const ExpertChoice& a, const ExpertChoice& b) { return load(a) < load(b); });
  return std::move(draws[kDraws / 2]);
}

// GPU 0 and the busiest one exchange their experts.
void put_busiest_first(const MoeSpec& spec, ExpertChoice& choice) {
  const std::int64_t busiest = busiest_gpu(choice, spec.ep);
  if (busiest == 0) return;
  const std::int64_t per_gpu = spec.experts / spec.ep;
  for (std::int32_t& expert : choice.experts) {
    const std::int64_t gpu = expert / per_gpu;
    const auto distance = static_cast<std::int32_t>(busiest * per_gpu);
    if (gpu == 0) {
      expert += distance;
    } else if (gpu == busiest) {
      expert -= distance;
    }
  }
  choice.tokens_of_expert = counts_of(choice.experts, spec.experts);
}

}  // namespace

std::int64_t ExpertChoice::tokens_of_gpu(std::int64_t gpu, std::int64_t ep) const {
  const auto per_gpu = static_cast<std::ptrdiff_t>(tokens_of_expert.size()) / ep;
  const auto begin = tokens_of_expert.begin() + gpu * per_gpu;
  return std::accumulate(begin, begin + per_gpu, std::int64_t{0});
}

ExpertChoice choose_experts(const MoeSpec& spec) {
  ExpertChoice choice = spec.routing == Routing::kPowerLaw ? median_draw(spec) : balanced(spec);
  put_busiest_first(spec, choice);
  return choice;
}

}  // namespace assay::collect
