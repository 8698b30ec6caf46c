#include "plan/search/near_frontier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace assay::plan {
namespace {

// The closed form's throughput is at most this much off, compared with the simulation, in nine of
// ten deployments.
constexpr double kSplitError = 0.1;

// Waiting, of which the closed form knows little, may be this much less than it says.
constexpr double kMuchLater = 2;

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

std::vector<Candidate> near_frontier(const std::vector<Candidate>& candidates,
                                     double ttft_limit_ms) {
  const auto is_late = [&](const Candidate& one) {
    return one.ttft_ms > kMuchLater * ttft_limit_ms;
  };
  const bool are_all_late = std::all_of(candidates.begin(), candidates.end(), is_late);
  std::vector<const Candidate*> sorted;
  for (const Candidate& one : candidates) {
    if (are_all_late || !is_late(one)) sorted.push_back(&one);
  }
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

std::vector<std::vector<const Candidate*>> within_limits(const std::vector<Candidate>& candidates,
                                                         const SearchRequest& request) {
  constexpr double kWorthTrying = 0.5;
  SearchRequest closed_form = request;
  closed_form.ttft_limit_ms *= kMuchLater;
  std::vector<const Candidate*> sorted;
  for (const Candidate& one : candidates) {
    if (one.meets(closed_form)) sorted.push_back(&one);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Candidate* a, const Candidate* b) {
    return a->cluster_tokens_per_s_per_gpu > b->cluster_tokens_per_s_per_gpu;
  });
  const double most = sorted.empty() ? 0 : sorted.front()->cluster_tokens_per_s_per_gpu;
  std::vector<std::vector<const Candidate*>> found;
  for (const Candidate* one : sorted) {
    const auto same = std::find_if(found.begin(), found.end(), [&](const auto& others) {
      return others.front()->is_like(*one);
    });
    if (same != found.end()) {
      same->push_back(one);
    } else if (one->cluster_tokens_per_s_per_gpu >= kWorthTrying * most) {
      found.push_back({one});
    }
  }
  return found;
}

}  // namespace assay::plan
