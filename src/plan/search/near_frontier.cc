#include "plan/search/near_frontier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace assay::plan {
namespace {

// The closed form's throughput is at most this much off, compared with the simulation.
constexpr double kSplitError = 0.05;

constexpr double kSpeedSteps = 4;  // of a doubling
constexpr double kTtftSteps = 2;
constexpr std::size_t kLatencySteps = 96;

// TTFT in steps of a half doubling from a millisecond on.
std::size_t latency_step(double ttft_ms) {
  const double steps = std::ceil(kTtftSteps * std::log2(std::max(1.0, ttft_ms)));
  return std::min(kLatencySteps - 1, static_cast<std::size_t>(steps));
}

std::int64_t speed_step(double tokens_per_s_per_user) {
  return std::llround(kSpeedSteps * std::log2(tokens_per_s_per_user));
}

}  // namespace

std::vector<Candidate> near_frontier(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> sorted;
  for (const Candidate& one : candidates)
    sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(), [](const Candidate* a, const Candidate* b) {
    return a->tokens_per_s_per_user > b->tokens_per_s_per_user;
  });
  std::array<double, kLatencySteps> best = {};  // tokens, of TTFT up to each step
  std::map<std::pair<std::int64_t, std::size_t>, const Candidate*> chosen;
  for (const Candidate* one : sorted) {
    const double tokens = one->cluster_tokens_per_s_per_gpu;
    const std::size_t latency = latency_step(one->ttft_ms);
    if (tokens < best[latency] * (1 - kSplitError)) continue;
    for (std::size_t step = latency; step < kLatencySteps; ++step)
      best[step] = std::max(best[step], tokens);
    const Candidate*& stands = chosen[{speed_step(one->tokens_per_s_per_user), latency}];
    if (stands == nullptr || tokens > stands->cluster_tokens_per_s_per_gpu) stands = one;
  }
  std::vector<Candidate> near;
  for (const auto& [steps, one] : chosen)
    near.push_back(*one);
  return near;
}

}  // namespace assay::plan
