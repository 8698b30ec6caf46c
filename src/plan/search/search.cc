#include "plan/search/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "plan/closed_form.h"
#include "plan/price/step_prices.h"
#include "plan/schedule/workload.h"
#include "plan/search/refine.h"
#include "plan/serve.h"

namespace assay::plan {
namespace {

constexpr std::int64_t kMostBatch = 1024;  // requests of a group

// 1 to 16, then on in steps of an eighth.
std::vector<std::int64_t> batches(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t batch = 1; batch <= most; batch += std::max<std::int64_t>(1, batch / 8))
    sizes.push_back(batch);
  return sizes;
}

struct PricedWorker {
  Worker worker;
  ServedWorker served;
  std::shared_ptr<const StepPrices> prices;  // of the whole model; stages share them
  std::unique_ptr<const StepCost> cost;
  std::int64_t most_batch = 1;
};

class Search {
 public:
  Search(const serving::Model& model, const SearchRequest& request)
      : model_(model), request_(request) {}

  core::Result<SearchResult> run(std::span<const SearchedEngine> engines) {
    for (const SearchedEngine& engine : engines)
      add_workers(engine);
    if (result_.candidates.empty()) return nothing_left(engines.size() > 1);
    result_.priced = result_.candidates.size();
    if (request_.scheduler == Scheduler::kSimulation) {
      result_.candidates = refine(result_.candidates, request_, [this](const Candidate& candidate) {
        std::optional<Candidate> made = simulate_one(candidate);
        if (made) add_bars(*made);
        return made;
      });
    } else {
      for (Candidate& candidate : result_.candidates)
        add_bars(candidate);
    }
    return std::move(result_);
  }

  [[nodiscard]] std::optional<double> benchmark_ttft_ms(const Candidate& candidate) const {
    const PricedWorker& priced = workers_[candidate.place];
    const std::int64_t batch = candidate.concurrency / priced.served.batches();
    ClosedLoop load = load_of(candidate.concurrency);
    load.client_ms = benchmark_client_ms(request_.calibration);
    const core::Result<ServingMetrics> metrics =
        serve(model_, served_with(priced.served, batch),
              CalibratedCost(*priced.cost, request_.calibration), load);
    if (!metrics.ok()) return std::nullopt;
    return request_.calibration.ttft_factor * metrics.value().ttft_ms.mean;
  }

  // Curves that refer to this.
  core::Result<DeploymentCurves> curves(std::span<const SearchedEngine> engines) {
    prices_batches_ = PricesBatches::kLater;
    for (const SearchedEngine& engine : engines)
      add_workers(engine);
    if (workers_.empty()) return nothing_left(engines.size() > 1);
    DeploymentCurves made{.refused = std::move(result_.refused)};
    for (std::size_t place = 0; place < workers_.size(); ++place)
      made.curves.push_back(curve(place));
    return made;
  }

 private:
  enum class PricesBatches : std::uint8_t { kNow, kLater };

  [[nodiscard]] DeploymentCurve curve(std::size_t place) const {
    const auto decide = [this, place](std::int64_t batch) -> std::optional<Candidate> {
      std::optional<Candidate> made = closed_form(place, batch);
      if (request_.scheduler == Scheduler::kSimulation) made = simulate_one(*made);
      if (made) add_bars(*made);
      return made;
    };
    return {.engine = workers_[place].served.engine,
            .worker = workers_[place].worker,
            .most_batch = workers_[place].most_batch,
            .price = [this, place](std::int64_t batch) { return closed_form(place, batch); },
            .decide = decide};
  }

  void add_workers(const SearchedEngine& engine) {
    const std::int64_t most = request_.most_gpus_of_stage(request_.gpus_per_node);
    Workers workers = workers_of(model_, engine.engine, engine.precision, most);
    refuse(engine, workers.excluded);
    for (const Worker& worker : workers.possible)
      add_with_stages(engine, worker);
  }

  void refuse(const SearchedEngine& engine, std::vector<ExcludedWorker>& excluded) {
    for (ExcludedWorker& one : excluded)
      result_.refused.push_back({one.worker, std::move(one.reason), engine.engine});
  }

  // A worker and the pipelines whose stages it is; they share prices.
  void add_with_stages(const SearchedEngine& engine, const Worker& worker) {
    Workers staged = staged_workers_of(model_, {worker}, request_.most_stages, request_.gpus);
    refuse(engine, staged.excluded);
    std::vector<Worker> all = {worker};
    all.insert(all.end(), staged.possible.begin(), staged.possible.end());
    serving::Deployment deployment =
        deployment_of(model_, worker, engine.precision, request_.speculation.tokens,
                      request_.prompt_tokens + request_.output_tokens);
    deployment.head_norm = head_norm_of(engine.engine, engine.version);
    const auto layers = std::make_shared<const LayerMemory>(model_, deployment);
    std::shared_ptr<const StepPrices> prices;
    for (const Worker& one : all) {
      const ServedWorker served{
          .engine = engine.engine,
          .deployment = deployment,
          .groups = one.dp,
          .memory = request_.memory(one.gpus()),
          .pp = one.pp,
          .speculation = request_.speculation,
          .kept = kept_cache(engine.engine, engine.version, Caches::kStay, model_.family),
          .layers = layers};
      for (const std::int64_t tokens : step_tokens()) {
        ServedWorker with_budget = served;
        with_budget.max_tokens = tokens;
        core::Status done = check_budget(with_budget);
        if (done.ok()) done = add(one, with_budget, *engine.tables, prices);
        if (!done.ok()) result_.refused.push_back({one, done.error().message, engine.engine});
      }
    }
  }

  [[nodiscard]] std::vector<std::int64_t> step_tokens() const {
    return request_.step_tokens.empty() ? std::vector<std::int64_t>{0} : request_.step_tokens;
  }

  // TensorRT-LLM takes whole prompts.
  [[nodiscard]] core::Status check_budget(const ServedWorker& served) const {
    const bool is_whole = served.engine == Engine::kTrtllm;
    if (served.max_tokens == 0 || !is_whole || served.max_tokens > request_.prompt_tokens)
      return {};
    return core::Error{
        fmt::format("a step of {} tokens holds no whole prompt of {} beside one that decodes",
                    served.max_tokens, request_.prompt_tokens)};
  }

  core::Status add(const Worker& worker,
                   const ServedWorker& served,
                   Tables& tables,
                   std::shared_ptr<const StepPrices>& prices) {
    const std::int64_t most = ASSAY_TRY(most_batch(served));
    if (prices == nullptr) {
      prices = std::make_shared<const StepPrices>(
          ASSAY_TRY(StepPrices::bind(model_, served.deployment, tables)));
    }
    const Pipeline pipeline =
        ASSAY_TRY(pipeline_of(model_, worker, request_.gpus_per_node, request_.link));
    workers_.push_back(
        {worker, served, prices, std::make_unique<const StagedCost>(*prices, pipeline), most});
    if (prices_batches_ == PricesBatches::kLater) return {};
    for (const std::int64_t batch : batches(most))
      result_.candidates.push_back(closed_form(workers_.size() - 1, batch));
    return {};
  }

  // The most requests of a batch that the cache holds, where the deployment names the batch. Error:
  // not even one.
  [[nodiscard]] core::Result<std::int64_t> most_batch(const ServedWorker& served) const {
    const auto least = limits_of(model_, served_with(served, 1), load_of(served.batches()));
    if (!least.ok()) return least.error();
    return most_held(model_, served_with(served, 1), load_of(served.batches()), kMostBatch);
  }

  // As it is deployed for so many requests of a group.
  static ServedWorker served_with(ServedWorker served, std::int64_t batch) {
    served.max_batch = batch;
    return served;
  }

  [[nodiscard]] ClosedLoop load_of(std::int64_t concurrency) const {
    return {.concurrency = concurrency,
            .prompt_tokens = request_.prompt_tokens,
            .output_tokens = request_.output_tokens,
            .least_length = request_.least_length,
            .prefix_tokens = request_.cached_prefix};
  }

  void add_bars(Candidate& candidate) const {
    const PricedWorker& priced = workers_[candidate.place];
    const SteadyLoad load =
        steady_load_of(served_with(priced.served, candidate.concurrency / priced.served.batches()),
                       load_of(candidate.concurrency));
    const LoadCosts costs = costs_of_load(*priced.prices, load);
    const LoadParts parts = parts_of_load(costs);
    candidate.parts = parts.mean;
    const LoadEnergy energy = energy_of_load(*priced.prices, costs, load, priced.worker.tp);
    candidate.power = energy.mean.shares();
    if (energy.mean.joules > 0) candidate.tokens_per_joule = 1 / energy.joules_per_token();
    candidate.bars = latency_bars(parts, request_.calibration_errors);
    candidate.margins = LatencyMargins::of(candidate.bars, request_.confidence);
    candidate.rate_bar =
        rate_bar(candidate.bars, candidate.ttft_ms, candidate.tpot_ms, load.output_tokens);
  }

  [[nodiscard]] Candidate closed_form(std::size_t place, std::int64_t batch) const {
    const PricedWorker& priced = workers_[place];
    const ServedWorker served = served_with(priced.served, batch);
    const ClosedLoop load = load_of(batch * served.batches());
    const SteadyLatencies found =
        steady_latencies_of(served, CalibratedCost(*priced.cost, request_.calibration), load);
    Candidate made{.engine = served.engine,
                   .worker = priced.worker,
                   .place = place,
                   .step_tokens = served.max_tokens,
                   .copies = request_.gpus / priced.worker.gpus(),
                   .concurrency = load.concurrency,
                   .ttft_ms = request_.calibration.ttft_factor * found.ttft_ms,
                   .tpot_ms = found.tpot_ms,
                   .requests_per_s = found.requests_per_s};
    const MemoryUse memory = memory_of_worker(model_, served, load);
    const double cache =
        memory.bytes_of(batch * served.pp, request_.prompt_tokens + request_.output_tokens);
    made.memory_bytes = memory.weight_bytes + memory.activation_bytes + memory.communication_bytes +
                        memory.runtime_bytes + cache;
    add_rates(made, made.requests_per_s * mean_output());
    return made;
  }

  [[nodiscard]] double mean_output() const {
    return mean_tokens(static_cast<double>(request_.output_tokens), request_.least_length);
  }

  void add_rates(Candidate& made, double tokens_per_s) const {
    made.tokens_per_s_per_user = 1000 / made.tpot_ms;
    made.tokens_per_s_per_gpu = tokens_per_s / static_cast<double>(made.worker.gpus());
    made.cluster_tokens_per_s_per_gpu =
        tokens_per_s * static_cast<double>(made.copies) / static_cast<double>(request_.gpus);
  }

  [[nodiscard]] std::optional<Candidate> simulate_one(const Candidate& candidate) const {
    const PricedWorker& priced = workers_[candidate.place];
    const std::int64_t batch = candidate.concurrency / priced.served.batches();
    const double decoding_ms = candidate.tpot_ms * mean_output();
    const core::Result<SteadyMetrics> metrics = serve_steadily(
        model_, served_with(priced.served, batch),
        CalibratedCost(*priced.cost, request_.calibration), load_of(candidate.concurrency),
        candidate.ttft_ms / (candidate.ttft_ms + decoding_ms));
    if (!metrics.ok()) return std::nullopt;
    Candidate made = candidate;
    made.is_simulated = true;
    made.ttft_ms = request_.calibration.ttft_factor * metrics.value().ttft_ms;
    if (metrics.value().tpot_ms > 0) made.tpot_ms = metrics.value().tpot_ms;
    made.requests_per_s = metrics.value().requests_per_s;
    add_rates(made, metrics.value().output_tokens_per_s);
    return made;
  }

  // Returns each reason once, with the first worker that has it.
  [[nodiscard]] static std::vector<std::string> reasons(const std::vector<Refused>& all,
                                                        bool names_engines) {
    std::set<std::string> told;
    std::vector<std::string> lines;
    for (const Refused& refused : all) {
      const std::string engine =
          names_engines ? fmt::format("{}, ", name_of(refused.engine)) : std::string();
      if (told.insert(engine + refused.reason).second)
        lines.push_back(engine + refused.worker.text() + ": " + refused.reason);
    }
    return lines;
  }

  // Of many reasons it tells those of the widest workers, which come nearest.
  [[nodiscard]] core::Error nothing_left(bool names_engines) const {
    constexpr std::size_t kMostTold = 3;
    std::vector<std::string> told = reasons(result_.refused, names_engines);
    const std::size_t count = told.size();
    if (count > kMostTold) {
      std::vector<Refused> widest = result_.refused;
      std::stable_sort(widest.begin(), widest.end(), [](const Refused& a, const Refused& b) {
        return a.worker.gpus() > b.worker.gpus();
      });
      told = reasons(widest, names_engines);
      told.resize(kMostTold);
    }
    std::string text = fmt::format("no deployment of {} on {} GPUs is left: {}", model_.name,
                                   request_.gpus, core::join(told, "; "));
    if (count > kMostTold) text += fmt::format("; {} more such reasons", count - kMostTold);
    const bool is_within_nodes = request_.most_nodes == 1 && request_.most_stages == 1;
    if (is_within_nodes && request_.gpus > request_.gpus_per_node)
      text += "; workers of several nodes (--max-nodes, --max-pp) were not tried";
    return core::Error{std::move(text)};
  }

  const serving::Model& model_;
  const SearchRequest request_;  // results may outlive the caller's
  PricesBatches prices_batches_ = PricesBatches::kNow;
  std::vector<PricedWorker> workers_;
  SearchResult result_;
};

bool is_better(const Candidate& a, const Candidate& b) {
  return std::tie(a.cluster_tokens_per_s_per_gpu, a.tokens_per_s_per_user) >
         std::tie(b.cluster_tokens_per_s_per_gpu, b.tokens_per_s_per_user);
}

}  // namespace

std::int64_t gpus_of_copy(const Worker& worker, const Split& split) {
  if (split.prefill_instances == 0) return worker.gpus();
  return split.prefill_instances * split.prefill.gpus() + split.decode_instances * worker.gpus();
}

std::string text_of_copy(const Worker& worker, const Split& split) {
  if (split.prefill_instances == 0) return worker.text();
  return fmt::format("{}P({}) + {}D({})", split.prefill_instances, split.prefill.text(),
                     split.decode_instances, worker.text());
}

std::int64_t Candidate::gpus() const {
  return gpus_of_copy(worker, split);
}

std::string Candidate::text() const {
  return text_of_copy(worker, split);
}

double Candidate::excess(const SearchRequest& request) const {
  return std::max({judged_ttft_ms() / request.ttft_limit_ms,
                   judged_tpot_ms() / request.tpot_limit_ms,
                   judged_request_ms(request) / request.request_limit_ms});
}

core::Result<SearchResult> search(const serving::Model& model,
                                  const SearchRequest& request,
                                  Tables& tables) {
  const SearchedEngine engine{request.engine, request.precision, &tables};
  return search(model, request, std::span(&engine, 1));
}

core::Result<SearchResult> search(const serving::Model& model,
                                  const SearchRequest& request,
                                  std::span<const SearchedEngine> engines) {
  const auto search = std::make_shared<Search>(model, request);
  SearchResult result = ASSAY_TRY(search->run(engines));
  result.benchmarks.emplace_back(
      [search](const Candidate& candidate) { return search->benchmark_ttft_ms(candidate); });
  return result;
}

core::Result<DeploymentCurves> deployment_curves(const serving::Model& model,
                                                 const SearchRequest& request,
                                                 std::span<const SearchedEngine> engines) {
  const auto search = std::make_shared<Search>(model, request);
  DeploymentCurves made = ASSAY_TRY(search->curves(engines));
  made.search = search;
  return made;
}

namespace {

Picks picks_of(const SearchResult& result, const SearchRequest& request, std::size_t most) {
  std::vector<Candidate> best;
  for (const Candidate& candidate : result.candidates) {
    if (!candidate.meets(request)) continue;
    const auto same = std::find_if(
        best.begin(), best.end(), [&](const Candidate& other) { return other.is_like(candidate); });
    if (same == best.end()) {
      best.push_back(candidate);
    } else if (is_better(candidate, *same)) {
      *same = candidate;
    }
  }
  if (best.empty()) {
    const auto closest = std::min_element(result.candidates.begin(), result.candidates.end(),
                                          [&](const Candidate& a, const Candidate& b) {
                                            return a.excess(request) < b.excess(request);
                                          });
    if (closest == result.candidates.end()) return {};
    return {.best = {*closest}, .meet = false};
  }
  std::sort(best.begin(), best.end(), is_better);
  if (best.size() > most) best.resize(most);
  return {.best = std::move(best), .meet = true};
}

}  // namespace

Picks pick(const SearchResult& result, const SearchRequest& request, std::size_t most) {
  Picks picks = picks_of(result, request, most);
  if (picks.best.empty()) return picks;
  Candidate& best = picks.best.front();
  if (request.scheduler == Scheduler::kSimulation && best.benchmark < result.benchmarks.size())
    best.benchmark_ttft_ms = result.benchmarks[best.benchmark](best);
  return picks;
}

std::vector<Candidate> frontier(const std::vector<Candidate>& candidates) {
  std::vector<Candidate> sorted = candidates;
  std::sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.tokens_per_s_per_user, a.cluster_tokens_per_s_per_gpu, b.ttft_ms) >
           std::tie(b.tokens_per_s_per_user, b.cluster_tokens_per_s_per_gpu, a.ttft_ms);
  });
  std::vector<Candidate> best;
  for (const Candidate& candidate : sorted) {
    if (best.empty() ||
        candidate.cluster_tokens_per_s_per_gpu > best.back().cluster_tokens_per_s_per_gpu)
      best.push_back(candidate);
  }
  return best;
}

}  // namespace assay::plan
