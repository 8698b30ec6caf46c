#include "plan/compat/picks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

namespace assay::plan::compat {
namespace {

Pick on_cluster(const Offer& offer, std::int64_t gpus) {
  if (gpus == 0)
    return {.offer = offer, .cluster_tokens_per_s_per_gpu = offer.tokens_per_s_per_gpu};
  const std::int64_t copies = gpus / offer.gpus;
  const double share = static_cast<double>(copies * offer.gpus) / static_cast<double>(gpus);
  return {.offer = offer,
          .copies = copies,
          .cluster_tokens_per_s_per_gpu = offer.tokens_per_s_per_gpu * share};
}

std::vector<Offer> within(const std::vector<Offer>& offers, double tpot_limit_ms) {
  std::vector<Offer> kept = offers;
  std::erase_if(kept, [&](const Offer& one) { return one.tpot_ms > tpot_limit_ms; });
  return kept;
}

// The first of the best of each group, in the order of the groups' names.
std::vector<Pick> best_of_groups(const std::vector<Pick>& all,
                                 const std::function<bool(const Pick&, const Pick&)>& is_better) {
  std::map<std::string, Pick> best;
  for (const Pick& one : all) {
    const auto [place, is_new] = best.emplace(one.offer.parallel, one);
    if (!is_new && is_better(one, place->second)) place->second = one;
  }
  std::vector<Pick> picks;
  for (auto& [name, one] : best)
    picks.push_back(std::move(one));
  return picks;
}

std::int64_t copies_for(const Load& load, const Offer& offer) {
  const double copies = load.requests_per_s > 0 ? load.requests_per_s / offer.requests_per_s
                                                : static_cast<double>(load.concurrency) /
                                                      static_cast<double>(offer.concurrency);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(copies)));
}

bool is_nearer(const Pick& a, const Pick& b) {
  return a.offer.tpot_ms < b.offer.tpot_ms;
}

void keep_first(std::vector<Pick>& picks, std::size_t most) {
  if (picks.size() > most) picks.resize(most);
}

}  // namespace

std::vector<Pick> pick_for_gpus(const std::vector<Offer>& offers,
                                std::int64_t gpus,
                                double tpot_limit_ms,
                                std::size_t most) {
  const std::vector<Offer> kept = within(offers, tpot_limit_ms);
  std::vector<Pick> all;
  for (const Offer& one : kept.empty() ? offers : kept)
    all.push_back(on_cluster(one, gpus));
  std::vector<Pick> picks = best_of_groups(all, [](const Pick& a, const Pick& b) {
    return a.cluster_tokens_per_s_per_gpu > b.cluster_tokens_per_s_per_gpu;
  });
  const auto comes_first = [&](const Pick& a, const Pick& b) {
    if (kept.empty()) return is_nearer(a, b);
    return std::make_tuple(a.cluster_tokens_per_s_per_gpu, a.offer.tokens_per_s_per_user) >
           std::make_tuple(b.cluster_tokens_per_s_per_gpu, b.offer.tokens_per_s_per_user);
  };
  std::stable_sort(picks.begin(), picks.end(), comes_first);
  keep_first(picks, most);
  return picks;
}

std::vector<Pick> pick_for_load(const std::vector<Offer>& offers,
                                const Load& load,
                                double tpot_limit_ms,
                                std::size_t most) {
  const std::vector<Offer> kept = within(offers, tpot_limit_ms);
  std::vector<Pick> all;
  for (const Offer& one : kept.empty() ? offers : kept) {
    Pick pick = on_cluster(one, 0);
    pick.copies = copies_for(load, one);
    all.push_back(pick);
  }
  std::vector<Pick> picks = best_of_groups(all, [&](const Pick& a, const Pick& b) {
    return kept.empty() ? is_nearer(a, b) : a.gpus() < b.gpus();
  });
  const auto comes_first = [&](const Pick& a, const Pick& b) {
    if (kept.empty()) return is_nearer(a, b);
    return std::make_tuple(a.gpus(), -a.offer.tokens_per_s_per_gpu) <
           std::make_tuple(b.gpus(), -b.offer.tokens_per_s_per_gpu);
  };
  std::stable_sort(picks.begin(), picks.end(), comes_first);
  keep_first(picks, most);
  return picks;
}

std::vector<Pick> frontier_of(const std::vector<Offer>& offers, std::int64_t gpus) {
  std::vector<Pick> all;
  for (const Offer& one : offers)
    all.push_back(on_cluster(one, gpus));
  std::stable_sort(all.begin(), all.end(), [](const Pick& a, const Pick& b) {
    return std::make_tuple(a.offer.tokens_per_s_per_user, a.cluster_tokens_per_s_per_gpu) >
           std::make_tuple(b.offer.tokens_per_s_per_user, b.cluster_tokens_per_s_per_gpu);
  });
  std::vector<Pick> frontier;
  for (const Pick& one : all) {
    if (frontier.empty() ||
        one.cluster_tokens_per_s_per_gpu > frontier.back().cluster_tokens_per_s_per_gpu)
      frontier.push_back(one);
  }
  std::reverse(frontier.begin(), frontier.end());
  return frontier;
}

}  // namespace assay::plan::compat
