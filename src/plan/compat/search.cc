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
// A load is searched for on the GPUs of a node, and on more only where the model has no room.
constexpr std::int64_t kMostSearched = 64;

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
  if (asked.load) {
    found.picks = pick_for_load(found.offers, *asked.load, asked.tpot_limit_ms, asked.most);
    found.frontier = frontier_of(found.offers, 0);
  } else {
    found.picks = pick_for_gpus(found.offers, asked.gpus, asked.tpot_limit_ms, asked.most);
    found.frontier = frontier_of(found.offers, asked.gpus);
  }
}

// What a search prices before it picks.
struct Priced {
  std::size_t workers = 0;
  std::size_t fitting = 0;  // workers that have room for one request
  std::vector<AggregatedPoint> aggregated;
  std::vector<PhaseWorker> prompts;
  std::vector<PhaseWorker> decodes;
  std::vector<LeftOut> left_out;
  Quantization attention = Quantization::kBfloat16;

  [[nodiscard]] bool has_room() const {
    return fitting > 0 && !prompts.empty() && !decodes.empty();
  }
};

template <class Item>
void append(std::vector<Item>& all, const std::vector<Item>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Priced priced_on(const serving::Model& model,
                 const SearchAsked& asked,
                 Measured& measured,
                 std::int64_t gpus) {
  const Setting& setting = asked.setting;
  const SystemFacts& facts = measured.facts();
  Priced priced;
  for (const Worker& worker : tried_workers(model, setting.engine, gpus)) {
    const auto bound = operators_of(model, worker, setting.engine, measured);
    if (!bound.ok()) {
      priced.left_out.push_back({worker, bound.error().message});
      continue;
    }
    const Operators& operators = bound.value();
    ++priced.workers;
    priced.attention = operators.attention;
    const auto points = aggregated_points(model, worker, operators, facts, setting);
    if (points.empty()) {
      priced.left_out.push_back({worker, "the model or a request has no room"});
    } else {
      ++priced.fitting;
    }
    append(priced.aggregated, kept_points(points, asked.ttft_limit_ms));
    append(priced.prompts, prompt_workers(model, worker, operators, facts, setting));
    append(priced.decodes, decode_workers(model, worker, operators, facts, setting));
  }
  return priced;
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
  if (const auto kind = kind_of(model); !kind.ok()) return kind.error();
  std::int64_t gpus = asked.load ? measured.facts().gpus_per_node : asked.gpus;
  Priced priced = priced_on(model, asked, measured, gpus);
  while (asked.load && !priced.has_room() && gpus < kMostSearched) {
    gpus *= 2;
    priced = priced_on(model, asked, measured, gpus);
  }
  if (priced.workers == 0) {
    return core::Error{priced.left_out.empty() ? "no worker suits the model"
                                               : fmt::format("no worker has a price: {}: {}",
                                                             priced.left_out.front().worker.text(),
                                                             priced.left_out.front().reason)};
  }
  if (priced.fitting == 0)
    return core::Error{fmt::format("{} has no room on workers of up to {} GPUs", model.name, gpus)};
  SearchFound found{.left_out = std::move(priced.left_out), .attention = priced.attention};
  if (asked.modes != ServingMode::kDisaggregated) {
    found.aggregated.points = std::move(priced.aggregated);
    for (std::size_t i = 0; i < found.aggregated.points.size(); ++i)
      found.aggregated.offers.push_back(offer_of(found.aggregated.points[i], i));
  }
  if (asked.modes != ServingMode::kAggregated) {
    found.disaggregated.points = disaggregated_points(priced.prompts, priced.decodes, asked.setting,
                                                      asked.ttft_limit_ms, gpus);
    drop_repeated(found.disaggregated.points);
    for (std::size_t i = 0; i < found.disaggregated.points.size(); ++i) {
      found.disaggregated.offers.push_back(
          offer_of(found.disaggregated.points[i], i, asked.setting.lengths));
    }
  }
  if (found.aggregated.offers.empty() && found.disaggregated.offers.empty()) {
    return core::Error{fmt::format("no deployment has a TTFT within {:g} ms in this closed form",
                                   asked.ttft_limit_ms)};
  }
  pick(found.aggregated, asked);
  pick(found.disaggregated, asked);
  return found;
}

}  // namespace assay::plan::compat
