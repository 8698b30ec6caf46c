#include "plan/compat/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

namespace assay::plan::compat {
namespace {

constexpr std::size_t kMostOfWorker = 10;  // points of a worker for each limit on TPOT
constexpr std::int64_t kMostOfUnit = 128;  // GPUs of a unit, where their number is asked for

bool is_possible(Engine engine, const Worker& worker) {
  if (worker.moe_tp * worker.moe_ep != worker.gpus()) return false;
  if (engine == Engine::kTrtllm) return worker.tp == 1 || worker.dp == 1;
  if (engine == Engine::kVllm) return worker.moe_tp == 1 || worker.moe_ep == 1;
  return true;
}

// Of each worker the points with the most requests for each limit on TPOT.
std::vector<AggregatedPoint> kept_points(const std::vector<AggregatedPoint>& points,
                                         double ttft_limit_ms) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].ttft_ms <= ttft_limit_ms) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rounded(points[a].requests_per_s) > rounded(points[b].requests_per_s);
  });
  std::set<std::size_t> kept;
  for (const double tpot : tried_tpots()) {
    std::size_t count = 0;
    for (const std::size_t i : order) {
      if (points[i].tpot_ms > tpot) continue;
      kept.insert(i);
      if (++count == kMostOfWorker) break;
    }
  }
  std::vector<AggregatedPoint> all;
  for (const std::size_t i : kept)
    all.push_back(points[i]);
  return all;
}

Offer offer_of(const AggregatedPoint& point, std::size_t place) {
  return {.place = place,
          .parallel = parallel_name(point.worker),
          .gpus = point.worker.gpus(),
          .concurrency = point.batch * point.worker.dp,
          .ttft_ms = rounded(point.ttft_ms),
          .tpot_ms = rounded(point.tpot_ms),
          .requests_per_s = rounded(point.requests_per_s),
          .tokens_per_s_per_gpu = rounded(point.tokens_per_s_per_gpu()),
          .tokens_per_s_per_user = point.tpot_ms > 0 ? rounded(1000 / point.tpot_ms) : 0};
}

Offer offer_of(const DisaggregatedPoint& point, std::size_t place, const Lengths& lengths) {
  const double tokens = point.requests_per_s * static_cast<double>(lengths.output);
  return {.place = place,
          .parallel = parallel_name(point.decodes.worker),
          .gpus = point.gpus(),
          .concurrency = point.concurrency(),
          .ttft_ms = rounded(point.ttft_ms),
          .tpot_ms = point.decodes.tpot_ms,
          .requests_per_s = rounded(point.requests_per_s),
          .tokens_per_s_per_gpu = rounded(tokens / static_cast<double>(point.gpus())),
          .tokens_per_s_per_user = point.decodes.tokens_per_s_per_user};
}

bool is_same(const DisaggregatedPoint& a, const DisaggregatedPoint& b) {
  return a.prompts.worker == b.prompts.worker && a.decodes.worker == b.decodes.worker &&
         a.decodes.batch == b.decodes.batch && a.prompt_workers == b.prompt_workers &&
         a.decode_workers == b.decode_workers;
}

void drop_repeated(std::vector<DisaggregatedPoint>& points) {
  std::vector<DisaggregatedPoint> kept;
  for (const DisaggregatedPoint& one : points) {
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const DisaggregatedPoint& other) { return is_same(one, other); }))
      kept.push_back(one);
  }
  points = std::move(kept);
}

// The public planner lists what it keeps by its tokens.
void sort_offers(std::vector<Offer>& offers) {
  std::stable_sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
    return a.tokens_per_s_per_gpu > b.tokens_per_s_per_gpu;
  });
}

template <class Point>
void pick(Found<Point>& found, const SearchAsked& asked) {
  sort_offers(found.offers);
  if (asked.requests_per_s) {
    found.picks =
        pick_for_rate(found.offers, *asked.requests_per_s, asked.tpot_limit_ms, asked.most);
    found.frontier = frontier_of(found.offers, 0);
  } else {
    found.picks = pick_for_gpus(found.offers, asked.gpus, asked.tpot_limit_ms, asked.most);
    found.frontier = frontier_of(found.offers, asked.gpus);
  }
}

}  // namespace

std::vector<Worker> tried_workers(const serving::Model& model, Engine engine, std::int64_t gpus) {
  constexpr std::array<std::int64_t, 5> kSizes = {1, 2, 4, 8, 16};
  std::vector<Worker> workers;
  const auto is_allowed = [&](const Worker& worker) {
    return worker.gpus() <= std::min<std::int64_t>(gpus, kSizes.back());
  };
  for (const std::int64_t tp : kSizes) {
    if (!model.has_experts()) {
      if (tp < kSizes.back() && is_allowed({.tp = tp})) workers.push_back({.tp = tp});
      continue;
    }
    for (const std::int64_t dp : kSizes) {
      for (const std::int64_t moe_tp : kSizes) {
        for (const std::int64_t moe_ep : kSizes) {
          const Worker worker{.tp = tp, .dp = dp, .moe_tp = moe_tp, .moe_ep = moe_ep};
          if (is_allowed(worker) && is_possible(engine, worker)) workers.push_back(worker);
        }
      }
    }
  }
  return workers;
}

core::Result<SearchFound> search(const serving::Model& model,
                                 const SearchAsked& asked,
                                 Measured& measured) {
  ASSAY_TRY(kind_of(model));
  const Setting& setting = asked.setting;
  const SystemFacts& facts = measured.facts();
  const std::int64_t most_gpus = asked.requests_per_s ? kMostOfUnit : asked.gpus;
  SearchFound found;
  std::vector<PhaseWorker> prompts;
  std::vector<PhaseWorker> decodes;
  std::size_t priced = 0;
  for (const Worker& worker : tried_workers(model, setting.engine, most_gpus)) {
    const auto operators = operators_of(model, worker, setting.engine, measured);
    if (!operators.ok()) {
      found.left_out.push_back({worker, operators.error().message});
      continue;
    }
    ++priced;
    const auto points = aggregated_points(model, worker, operators.value(), facts, setting);
    if (points.empty()) found.left_out.push_back({worker, "the model or one request has no room"});
    for (const AggregatedPoint& point : kept_points(points, asked.ttft_limit_ms)) {
      found.aggregated.offers.push_back(offer_of(point, found.aggregated.points.size()));
      found.aggregated.points.push_back(point);
    }
    const auto more_prompts = prompt_workers(model, worker, operators.value(), facts, setting);
    const auto more_decodes = decode_workers(model, worker, operators.value(), facts, setting);
    prompts.insert(prompts.end(), more_prompts.begin(), more_prompts.end());
    decodes.insert(decodes.end(), more_decodes.begin(), more_decodes.end());
  }
  if (priced == 0) {
    return core::Error{found.left_out.empty() ? "no worker suits the model"
                                              : fmt::format("no worker has a price: {}: {}",
                                                            found.left_out.front().worker.text(),
                                                            found.left_out.front().reason)};
  }
  found.disaggregated.points =
      disaggregated_points(prompts, decodes, setting, asked.ttft_limit_ms, most_gpus);
  drop_repeated(found.disaggregated.points);
  for (std::size_t i = 0; i < found.disaggregated.points.size(); ++i) {
    found.disaggregated.offers.push_back(
        offer_of(found.disaggregated.points[i], i, setting.lengths));
  }
  pick(found.aggregated, asked);
  pick(found.disaggregated, asked);
  return found;
}

}  // namespace assay::plan::compat
