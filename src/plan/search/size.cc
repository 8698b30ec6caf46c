#include "plan/search/size.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "plan/search/least_count.h"

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

// The least copies of one worker.
class CurveSize {
 public:
  CurveSize(const DeploymentCurve& curve, const TargetLoad& load, const SearchRequest& request)
      : curve_(curve), load_(load), request_(request) {}

  // Deployments that were looked at.
  [[nodiscard]] std::int64_t decided() const { return static_cast<std::int64_t>(known_.size()); }

  // With the emptiest batch, which is the nearest to any limit.
  const std::optional<Candidate>& emptiest() { return decide(1); }

  // Copies that carry the load by the closed form, at the largest batch that keeps the limits.
  [[nodiscard]] std::int64_t guess() const {
    const auto breaks = least_count(curve_.most_batch, curve_.most_batch, [&](std::int64_t batch) {
      return !curve_.price(batch).meets(request_);
    });
    const std::int64_t batch =
        std::max<std::int64_t>(1, breaks.value_or(curve_.most_batch + 1) - 1);
    return copies_for(curve_.price(batch), load_);
  }

  // std::nullopt: no number of copies up to that keeps the limits.
  std::optional<Sized> least(std::int64_t guess, std::int64_t most) {
    if (!emptiest() || !emptiest()->meets(request_)) return std::nullopt;
    const std::int64_t emptiest_copies = copies_for(*emptiest(), load_);
    const auto copies =
        least_count(guess, std::min(most, emptiest_copies), [&](std::int64_t count) {
          const std::optional<std::int64_t> batch = batch_for(count);
          return batch && decide(*batch) && decide(*batch)->meets(request_);
        });
    if (!copies) return std::nullopt;
    return Sized{*decide(*batch_for(*copies)), *copies};
  }

 private:
  // The smallest with which so many copies carry the load.
  std::optional<std::int64_t> batch_for(std::int64_t copies) {
    if (load_.concurrency > 0) {
      const std::int64_t of_copy = (load_.concurrency + copies - 1) / copies;
      const std::int64_t batch = (of_copy + curve_.batches() - 1) / curve_.batches();
      return batch <= curve_.most_batch ? std::optional(batch) : std::nullopt;
    }
    const auto carries = [&](const Candidate& one) { return copies_for(one, load_) <= copies; };
    const auto by_price = least_count(
        1, curve_.most_batch, [&](std::int64_t batch) { return carries(curve_.price(batch)); });
    return least_count(by_price.value_or(curve_.most_batch), curve_.most_batch,
                       [&](std::int64_t batch) {
                         const std::optional<Candidate>& one = decide(batch);
                         return one && carries(*one);
                       });
  }

  const std::optional<Candidate>& decide(std::int64_t batch) {
    const auto [known, is_new] = known_.try_emplace(batch);
    if (is_new) known->second = curve_.decide(batch);
    return known->second;
  }

  const DeploymentCurve& curve_;
  const TargetLoad& load_;
  const SearchRequest& request_;
  std::map<std::int64_t, std::optional<Candidate>> known_;  // by batch
};

// The workers of which the closed form expects the fewest GPUs come first, so that others are given
// up early.
void size_curves(const SizeRequest& size,
                 const SearchRequest& request,
                 std::span<const DeploymentCurve> curves,
                 std::size_t most,
                 SizeResult& result,
                 std::optional<Candidate>& closest) {
  struct Guess {
    std::int64_t gpus;
    std::int64_t copies;
    const DeploymentCurve* curve;
  };

  std::vector<Guess> guesses;
  for (const DeploymentCurve& curve : curves) {
    const std::int64_t copies = CurveSize(curve, size.load, request).guess();
    guesses.push_back({copies * curve.worker.gpus(), copies, &curve});
  }
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.gpus < b.gpus; });
  for (const Guess& guess : guesses) {
    constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
    const std::int64_t worth = result.best.size() < most
                                   ? kAny
                                   : result.best[most - 1].gpus() / guess.curve->worker.gpus();
    CurveSize of_curve(*guess.curve, size.load, request);
    if (const std::optional<Sized> least = of_curve.least(guess.copies, worth)) {
      result.best.push_back(*least);
      std::sort(result.best.begin(), result.best.end(), is_smaller);
    }
    const std::optional<Candidate>& emptiest = of_curve.emptiest();
    if (emptiest && (!closest || emptiest->excess(request) < closest->excess(request)))
      closest = emptiest;
    result.decided += of_curve.decided();
  }
}

// The best copies of so many GPUs may be more than the load needs; on fewer GPUs others are, which
// have other ratios of prompts and decoding, or leave none of these GPUs idle.
void search_fewer(const SizeRequest& size,
                  const SearchRequest& request,
                  const SearchAt& search_at,
                  std::vector<Sized>& best) {
  while (best.front().gpus() > 1) {
    const std::int64_t fewer = best.front().gpus() - 1;
    core::Result<SearchResult> searched = search_at(fewer);
    if (!searched.ok()) return;
    const std::vector<Sized> found = sized_of(searched.value(), request, size.load);
    if (found.empty() || found.front().gpus() > fewer) return;
    merge(best, found);
  }
}

// Error: that of the search.
core::Status size_splits(const SizeRequest& size,
                         const SearchRequest& request,
                         const SearchAt& search_at,
                         SizeResult& result,
                         std::optional<Candidate>& closest) {
  result.searched = ASSAY_TRY(search_at(std::min(size.searched_gpus, size.most_gpus)));
  std::vector<Sized> best = sized_of(result.searched, request, size.load);
  if (!best.empty()) {
    search_fewer(size, request, search_at, best);
    merge(result.best, best);
    return {};
  }
  const Picks picks = pick(result.searched, request, 1);
  if (picks.best.empty()) return {};
  const Candidate& one = picks.best.front();
  if (!closest || one.excess(request) < closest->excess(request)) closest = one;
  return {};
}

}  // namespace

core::Result<SizeResult> size_deployment(const SizeRequest& size,
                                         const SearchRequest& request,
                                         const SizeInputs& inputs,
                                         std::size_t most) {
  SizeResult result;
  std::optional<Candidate> closest;
  size_curves(size, request, inputs.curves, most, result, closest);
  if (inputs.split_at != nullptr) {
    const core::Status sized = size_splits(size, request, inputs.split_at, result, closest);
    if (!sized.ok() && inputs.curves.empty()) return sized.error();
    if (!sized.ok()) result.notes.push_back(sized.error().message);
  }
  result.meets_limits = !result.best.empty();
  if (!result.meets_limits) {
    if (closest) result.best.push_back({*closest, copies_for(*closest, size.load)});
    return result;
  }
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
