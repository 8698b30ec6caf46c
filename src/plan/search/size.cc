#include "plan/search/size.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace assay::plan {
namespace {

std::int64_t copies_for(const Candidate& candidate, const TargetLoad& load) {
  const double of_rate = load.requests_per_s / candidate.requests_per_s;
  const double of_flight =
      static_cast<double>(load.concurrency) / static_cast<double>(candidate.concurrency);
  return std::max<std::int64_t>(1, std::llround(std::ceil(std::max(of_rate, of_flight) - 1e-9)));
}

// Of as many GPUs, those that have the earlier first token come first.
bool is_smaller(const Sized& a, const Sized& b) {
  return std::tuple(a.gpus(), a.candidate.ttft_ms, a.candidate.tpot_ms) <
         std::tuple(b.gpus(), b.candidate.ttft_ms, b.candidate.tpot_ms);
}

// The smallest of each worker that keeps the limits.
std::vector<Sized> sized_of(const SearchResult& searched,
                            const SearchRequest& request,
                            const TargetLoad& load) {
  std::vector<Sized> best;
  for (const Candidate& candidate : searched.candidates) {
    if (!candidate.meets(request)) continue;
    const Sized sized{candidate, copies_for(candidate, load)};
    const auto same = std::find_if(best.begin(), best.end(), [&](const Sized& other) {
      return other.candidate.is_like(candidate);
    });
    if (same == best.end()) {
      best.push_back(sized);
    } else if (is_smaller(sized, *same)) {
      *same = sized;
    }
  }
  std::sort(best.begin(), best.end(), is_smaller);
  return best;
}

void merge(std::vector<Sized>& best, const std::vector<Sized>& others) {
  for (const Sized& other : others) {
    const auto same = std::find_if(best.begin(), best.end(), [&](const Sized& one) {
      return one.candidate.is_like(other.candidate);
    });
    if (same == best.end()) {
      best.push_back(other);
    } else if (is_smaller(other, *same)) {
      *same = other;
    }
  }
  std::sort(best.begin(), best.end(), is_smaller);
}

// A deployment of all the GPUs searched may be more than the load needs; those of fewer GPUs have
// other ratios of prompts and decoding.
void search_fewer(const SizeRequest& size,
                  const SearchRequest& request,
                  const SearchAt& search_at,
                  SizeResult& result) {
  while (result.best.front().gpus() > 1 && result.best.front().gpus() <= size.searched_gpus) {
    const std::int64_t fewer = result.best.front().gpus() - 1;
    core::Result<SearchResult> searched = search_at(fewer);
    if (!searched.ok()) return;
    const std::vector<Sized> found = sized_of(searched.value(), request, size.load);
    if (found.empty() || found.front().gpus() > fewer) return;
    merge(result.best, found);
  }
}

}  // namespace

core::Result<SizeResult> size_deployment(const SizeRequest& size,
                                         const SearchRequest& request,
                                         const SearchAt& search_at,
                                         std::size_t most) {
  SizeResult result;
  result.searched = ASSAY_TRY(search_at(std::min(size.searched_gpus, size.most_gpus)));
  result.best = sized_of(result.searched, request, size.load);
  result.meets_limits = !result.best.empty();
  if (!result.meets_limits) {
    const Picks closest = pick(result.searched, request, 1);
    for (const Candidate& one : closest.best)
      result.best.push_back({one, copies_for(one, size.load)});
    return result;
  }
  search_fewer(size, request, search_at, result);
  result.meets_load = result.best.front().gpus() <= size.most_gpus;
  if (!result.meets_load) {
    result.best.resize(1);
    return result;
  }
  std::erase_if(result.best, [&](const Sized& one) { return one.gpus() > size.most_gpus; });
  if (result.best.size() > most) result.best.resize(most);
  return result;
}

}  // namespace assay::plan
