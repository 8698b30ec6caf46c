#include "collect/kernels/moe_routing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>

namespace assay::collect {
namespace {

constexpr std::uint64_t kSeed = 42;
constexpr std::uint64_t kDraws = 5;

std::vector<std::int64_t> counts_of(const std::vector<std::int32_t>& experts, std::int64_t count) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(count));
  for (const std::int32_t expert : experts)
    ++counts[static_cast<std::size_t>(expert)];
  return counts;
}

enum class FewTokens : std::uint8_t { kSpread, kNextToEachOther };

// The i-th expert of token t is t + i * stride, so that all experts get the same share. Fewer
// tokens than a stride are spread over it.
ExpertChoice balanced(const MoeSpec& spec, FewTokens few = FewTokens::kSpread) {
  const std::int64_t stride = (spec.experts + spec.top_k - 1) / spec.top_k;
  const bool are_spread = few == FewTokens::kSpread && spec.tokens < stride;
  ExpertChoice choice;
  choice.experts.reserve(static_cast<std::size_t>(spec.tokens * spec.top_k));
  std::vector<std::int64_t> last_token(static_cast<std::size_t>(spec.experts), -1);
  for (std::int64_t token = 0; token < spec.tokens; ++token) {
    const std::int64_t first = are_spread ? token * stride / spec.tokens : token;
    for (std::int64_t i = 0; i < spec.top_k; ++i) {
      std::int64_t expert = (first + i * stride) % spec.experts;
      // If top_k does not divide the number of experts, the last choices can reach the first again.
      while (last_token[static_cast<std::size_t>(expert)] == token)
        expert = (expert + 1) % spec.experts;
      last_token[static_cast<std::size_t>(expert)] = token;
      choice.experts.push_back(static_cast<std::int32_t>(expert));
    }
  }
  choice.tokens_of_expert = counts_of(choice.experts, spec.experts);
  return choice;
}

// Uniform in [0, 1). std::uniform_real_distribution differs between standard libraries.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11U) * 0x1p-53;
}

// The inverse of the cumulative distribution of x^-exponent on [low, high].
class PowerLaw {
 public:
  PowerLaw(double exponent, double low, double high)
      : power_(1 - exponent), low_(low), ratio_(high / low) {
    begin_ = std::pow(low, power_);
    width_ = std::pow(high, power_) - begin_;
  }

  [[nodiscard]] double at(double u) const {
    if (std::fabs(power_) < 1e-9) return low_ * std::pow(ratio_, u);
    return std::pow(begin_ + u * width_, 1 / power_);
  }

 private:
  double power_;
  double low_;
  double ratio_;
  double begin_ = 0;
  double width_ = 0;
};

// How often all experts that may still change can do so by one, before one of them may no longer or
// fewer changes are left than there are experts.
std::int64_t whole_rounds(const std::vector<std::int64_t>& room, std::int64_t missing) {
  std::int64_t experts = 0;
  std::int64_t least = missing;
  for (const std::int64_t of_expert : room) {
    if (of_expert == 0) continue;
    ++experts;
    least = std::min(least, of_expert);
  }
  return experts == 0 ? 0 : std::min(least, missing / experts);
}

// Whole rounds of what fix_sum() does, at once.
std::int64_t fix_in_rounds(std::int64_t most,
                           std::int64_t missing,
                           std::vector<std::int64_t>& counts) {
  const std::int64_t sign = missing > 0 ? 1 : -1;
  std::vector<std::int64_t> room(counts.size());
  while (missing != 0) {
    std::transform(counts.begin(), counts.end(), room.begin(),
                   [&](std::int64_t tokens) { return missing > 0 ? most - tokens : tokens; });
    const std::int64_t rounds = whole_rounds(room, sign * missing);
    if (rounds == 0) break;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (room[i] == 0) continue;
      counts[i] += sign * rounds;
      missing -= sign * rounds;
    }
  }
  return missing;
}

// Restores the sum of all counts, which rounding and the limit of `tokens` for an expert have
// changed. It changes one count by one, that of the next GPU in turn, until the sum is right.
void fix_sum(const MoeSpec& spec, std::vector<std::int64_t>& counts) {
  const std::int64_t per_gpu = spec.experts / spec.ep;
  std::int64_t missing =
      spec.tokens * spec.top_k - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  missing = fix_in_rounds(spec.tokens, missing, counts);
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

using Counts = std::vector<std::int64_t>;

// The shares of a draw in all pairs of a token and an expert, rounded.
Counts rounded_shares(const MoeSpec& spec, std::uint64_t seed) {
  const std::int64_t all = spec.tokens * spec.top_k;
  const bool few = all <= spec.experts;
  const double low = few ? 0.01 : 1.0;
  const double high = few ? 2.0 : std::max(0.8 * static_cast<double>(spec.tokens), 1.0);
  std::mt19937_64 random(seed);
  const PowerLaw law(spec.exponent, low, high);
  std::vector<double> shares;
  shares.reserve(static_cast<std::size_t>(spec.experts));
  for (std::int64_t expert = 0; expert < spec.experts; ++expert)
    shares.push_back(law.at(uniform(random)));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  Counts counts;
  counts.reserve(shares.size());
  for (const double share : shares)
    counts.push_back(
        std::min<std::int64_t>(std::llround(share / sum * static_cast<double>(all)), spec.tokens));
  return counts;
}

using Draws = std::array<Counts, kDraws>;

// Of all draws. They take most of the time of counting and do not depend on the number of GPUs that
// share the experts, of which a search tries several.
const Draws& rounded_draws(const MoeSpec& spec) {
  constexpr std::size_t kMostKept = 1024;
  using Drawn = std::tuple<std::int64_t, std::int64_t, std::int64_t, double>;
  thread_local std::map<Drawn, Draws> kept;
  if (kept.size() >= kMostKept) kept.clear();
  const auto [at, is_new] =
      kept.try_emplace({spec.tokens, spec.top_k, spec.experts, spec.exponent});
  for (std::uint64_t draw = 0; is_new && draw < kDraws; ++draw)
    at->second[draw] = rounded_shares(spec, kSeed + draw);
  return at->second;
}

// Fills the choices column by column with the experts, sorted by their counts and each as often as
// its count. No token gets an expert twice, because no count is more than `tokens`.
ExpertChoice spread(const MoeSpec& spec, std::vector<std::int64_t> counts) {
  std::vector<std::int32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&counts](std::int32_t a, std::int32_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  ExpertChoice choice;
  choice.experts.resize(static_cast<std::size_t>(spec.tokens * spec.top_k));
  std::int64_t token = 0;
  std::int64_t column = 0;
  for (const std::int32_t expert : order) {
    for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(expert)]; ++i) {
      choice.experts[static_cast<std::size_t>(token * spec.top_k + column)] = expert;
      if (++token < spec.tokens) continue;
      token = 0;
      ++column;
    }
  }
  choice.tokens_of_expert = std::move(counts);
  return choice;
}

std::int64_t tokens_of(const Counts& counts, std::int64_t gpu, std::int64_t ep) {
  const auto per_gpu = static_cast<std::ptrdiff_t>(counts.size()) / ep;
  const auto begin = counts.begin() + gpu * per_gpu;
  return std::accumulate(begin, begin + per_gpu, std::int64_t{0});
}

std::int64_t busiest_gpu(const Counts& counts, std::int64_t ep) {
  std::int64_t busiest = 0;
  std::int64_t most = tokens_of(counts, 0, ep);
  for (std::int64_t gpu = 1; gpu < ep; ++gpu) {
    const std::int64_t tokens = tokens_of(counts, gpu, ep);
    if (tokens <= most) continue;
    busiest = gpu;
    most = tokens;
  }
  return busiest;
}

Counts median_counts(const MoeSpec& spec) {
  std::vector<std::pair<std::int64_t, Counts>> draws;  // each with the load of its busiest GPU
  for (Counts counts : rounded_draws(spec)) {
    fix_sum(spec, counts);
    const std::int64_t load = tokens_of(counts, busiest_gpu(counts, spec.ep), spec.ep);
    draws.emplace_back(load, std::move(counts));
  }
  std::stable_sort(draws.begin(), draws.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return std::move(draws[kDraws / 2].second);
}

// Exchanges the counts of GPU 0 and of the busiest GPU, whose number it returns.
std::int64_t put_busiest_first(const MoeSpec& spec, Counts& counts) {
  const std::int64_t busiest = busiest_gpu(counts, spec.ep);
  const std::int64_t per_gpu = spec.experts / spec.ep;
  if (busiest > 0)
    std::swap_ranges(counts.begin(), counts.begin() + per_gpu, counts.begin() + busiest * per_gpu);
  return busiest;
}

void put_busiest_first(const MoeSpec& spec, ExpertChoice& choice) {
  const std::int64_t busiest = put_busiest_first(spec, choice.tokens_of_expert);
  if (busiest == 0) return;
  const auto per_gpu = static_cast<std::int32_t>(spec.experts / spec.ep);
  const auto distance = static_cast<std::int32_t>(busiest) * per_gpu;
  for (std::int32_t& expert : choice.experts) {
    if (expert < per_gpu) {
      expert += distance;
    } else if (expert >= distance && expert < distance + per_gpu) {
      expert -= distance;
    }
  }
}

// As balanced() counts them. Whole turns give each expert the same, and the rest is played out.
Counts balanced_counts(const MoeSpec& spec) {
  const std::int64_t stride = (spec.experts + spec.top_k - 1) / spec.top_k;
  // After as many tokens as there are experts, all have had the same; before, tokens are few.
  const std::int64_t turns = spec.tokens < stride ? 0 : spec.tokens / spec.experts;
  MoeSpec rest = spec;
  rest.tokens = spec.tokens - turns * spec.experts;
  Counts counts(static_cast<std::size_t>(spec.experts), turns * spec.top_k);
  if (rest.tokens == 0) return counts;
  const ExpertChoice played =
      balanced(rest, turns > 0 ? FewTokens::kNextToEachOther : FewTokens::kSpread);
  for (std::size_t expert = 0; expert < counts.size(); ++expert)
    counts[expert] += played.tokens_of_expert[expert];
  return counts;
}

}  // namespace

std::int64_t ExpertChoice::tokens_of_gpu(std::int64_t gpu, std::int64_t ep) const {
  return tokens_of(tokens_of_expert, gpu, ep);
}

ExpertChoice choose_experts(const MoeSpec& spec) {
  ExpertChoice choice =
      spec.routing == Routing::kPowerLaw ? spread(spec, median_counts(spec)) : balanced(spec);
  put_busiest_first(spec, choice);
  return choice;
}

std::vector<std::int64_t> expert_counts(const MoeSpec& spec) {
  std::vector<std::int64_t> counts =
      spec.routing == Routing::kPowerLaw ? median_counts(spec) : balanced_counts(spec);
  put_busiest_first(spec, counts);
  return counts;
}

}  // namespace assay::collect
