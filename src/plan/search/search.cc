#include "plan/search/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "plan/closed_form.h"
#include "plan/price/step_prices.h"
#include "plan/serve.h"

namespace assay::plan {
namespace {

constexpr std::int64_t kMostBatch = 1024;  // requests of a group

// The closed form's throughput is at most this much off, compared with the simulation.
constexpr double kClosedFormError = 0.25;

// 1 to 16, then on in steps of an eighth.
std::vector<std::int64_t> batches(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t batch = 1; batch <= most; batch += std::max<std::int64_t>(1, batch / 8))
    sizes.push_back(batch);
  return sizes;
}

// Rounds of a closed loop: ten, as public benchmarks have, but no more than some hundred requests
// need to tell a mean.
std::int64_t rounds_of(std::int64_t concurrency) {
  constexpr std::int64_t kEnough = 640;
  return std::clamp<std::int64_t>(kEnough / concurrency, 3, 10);
}

struct PricedWorker {
  Worker worker;
  ServedWorker served;
  MemoryUse memory;
  StepPrices prices;
  std::int64_t max_tokens;  // of a step
};

class Search {
 public:
  Search(const serving::Model& model, const SearchRequest& request, Tables& tables)
      : model_(model), request_(request), tables_(tables) {}

  core::Result<SearchResult> run() {
    const std::int64_t most = std::min(request_.gpus, request_.gpus_per_node);
    Workers workers = workers_of(model_, request_.engine, request_.precision, most);
    for (ExcludedWorker& excluded : workers.excluded)
      result_.refused.push_back({excluded.worker, std::move(excluded.reason)});
    for (const Worker& worker : workers.possible) {
      if (core::Status done = add(worker); !done.ok())
        result_.refused.push_back({worker, done.error().message});
    }
    if (result_.candidates.empty()) return nothing_left();
    result_.priced = result_.candidates.size();
    if (request_.scheduler == Scheduler::kSimulation) decide();
    for (Candidate& candidate : result_.candidates)
      add_bars(candidate);
    return std::move(result_);
  }

 private:
  core::Status add(const Worker& worker) {
    const ServedWorker served{.engine = request_.engine,
                              .deployment = deployment_of(model_, worker, request_.precision),
                              .groups = worker.dp,
                              .memory = request_.memory(worker.gpus())};
    const ClosedLoop one = load_of(worker.dp);
    const Limits limits = ASSAY_TRY(limits_of(model_, served, one));
    const std::int64_t tokens = request_.prompt_tokens + request_.output_tokens;
    const std::int64_t most = std::min(kMostBatch, limits.kv_tokens / tokens);
    StepPrices prices = ASSAY_TRY(StepPrices::bind(model_, served.deployment, tables_));
    MemoryUse memory = memory_of_worker(model_, served, one);
    workers_.push_back({worker, served, memory, std::move(prices), limits.max_tokens});
    for (const std::int64_t batch : batches(most))
      result_.candidates.push_back(closed_form(workers_.size() - 1, batch));
    return {};
  }

  [[nodiscard]] ClosedLoop load_of(std::int64_t concurrency) const {
    return {.concurrency = concurrency,
            .prompt_tokens = request_.prompt_tokens,
            .output_tokens = request_.output_tokens,
            .least_length = request_.least_length,
            .requests_each = rounds_of(concurrency),
            .prefix_tokens = request_.cached_prefix};
  }

  // What a group of the worker has in the mean.
  [[nodiscard]] SteadyLoad steady_load(const PricedWorker& priced, std::int64_t batch) const {
    const double mean = 0.5 * (1 + request_.least_length);
    const auto mean_of = [&](std::int64_t tokens) {
      return std::max<std::int64_t>(1, std::llround(mean * static_cast<double>(tokens)));
    };
    return {.concurrency = batch,
            .prompt_tokens = mean_of(request_.prompt_tokens),
            .output_tokens = mean_of(request_.output_tokens),
            .cached_prefix = request_.cached_prefix,
            .token_budget = priced.max_tokens};
  }

  void add_bars(Candidate& candidate) const {
    const PricedWorker& priced = workers_[candidate.place];
    const SteadyLoad load = steady_load(priced, candidate.concurrency / priced.worker.dp);
    const LoadParts parts = parts_of_load(priced.prices, load);
    candidate.parts = parts.mean;
    candidate.bars = latency_bars(parts, request_.calibration_errors);
    candidate.rate_bar =
        rate_bar(candidate.bars, candidate.ttft_ms, candidate.tpot_ms, load.output_tokens);
  }

  [[nodiscard]] Candidate closed_form(std::size_t place, std::int64_t batch) const {
    const PricedWorker& priced = workers_[place];
    const SteadyLoad load = steady_load(priced, batch);
    const SteadyLatencies found =
        steady_latencies(CalibratedCost(priced.prices, request_.calibration), load);
    Candidate made{.worker = priced.worker,
                   .place = place,
                   .copies = request_.gpus / priced.worker.gpus(),
                   .concurrency = batch * priced.worker.dp,
                   .ttft_ms = request_.calibration.ttft_factor * found.ttft_ms,
                   .tpot_ms = found.tpot_ms,
                   .requests_per_s = found.requests_per_s * static_cast<double>(priced.worker.dp)};
    const double cache = static_cast<double>(batch) *
                         (static_cast<double>(request_.prompt_tokens + request_.output_tokens) *
                              priced.memory.bytes_per_token +
                          priced.memory.bytes_per_request);
    made.memory_bytes = priced.memory.weight_bytes + priced.memory.activation_bytes +
                        priced.memory.communication_bytes + priced.memory.runtime_bytes + cache;
    add_rates(made, made.requests_per_s * static_cast<double>(load.output_tokens));
    return made;
  }

  void add_rates(Candidate& made, double tokens_per_s) const {
    made.tokens_per_s_per_user = 1000 / made.tpot_ms;
    made.tokens_per_s_per_gpu = tokens_per_s / static_cast<double>(made.worker.gpus());
    made.cluster_tokens_per_s_per_gpu =
        tokens_per_s * static_cast<double>(made.copies) / static_cast<double>(request_.gpus);
  }

  // Simulates the candidates that the closed form's error cannot tell from the frontier, and keeps
  // these.
  void decide() {
    const std::vector<Candidate> best = frontier(result_.candidates);
    std::vector<Candidate> decided;
    for (const Candidate& candidate : result_.candidates) {
      if (!is_near(candidate, best)) continue;
      if (std::optional<Candidate> simulated = simulate_one(candidate))
        decided.push_back(std::move(*simulated));
    }
    result_.candidates = std::move(decided);
  }

  static bool is_near(const Candidate& candidate, const std::vector<Candidate>& best) {
    return std::none_of(best.begin(), best.end(), [&](const Candidate& other) {
      return other.tokens_per_s_per_user >= candidate.tokens_per_s_per_user &&
             other.cluster_tokens_per_s_per_gpu * (1 - kClosedFormError) >
                 candidate.cluster_tokens_per_s_per_gpu;
    });
  }

  [[nodiscard]] std::optional<Candidate> simulate_one(const Candidate& candidate) const {
    const PricedWorker& priced = workers_[candidate.place];
    const core::Result<ServingMetrics> metrics =
        serve(model_, priced.served, CalibratedCost(priced.prices, request_.calibration),
              load_of(candidate.concurrency));
    if (!metrics.ok()) return std::nullopt;
    Candidate made = candidate;
    made.is_simulated = true;
    made.ttft_ms = request_.calibration.ttft_factor * metrics.value().ttft_ms.mean;
    made.tpot_ms = metrics.value().tpot_ms.mean;
    made.requests_per_s = metrics.value().requests_per_s;
    add_rates(made, metrics.value().output_tokens_per_s);
    return made;
  }

  [[nodiscard]] core::Error nothing_left() const {
    std::set<std::string> told;
    std::vector<std::string> lines;
    for (const Refused& refused : result_.refused) {
      if (told.insert(refused.reason).second)
        lines.push_back(refused.worker.text() + ": " + refused.reason);
    }
    return core::Error{fmt::format("no deployment of {} on {} GPUs is left: {}", model_.name,
                                   request_.gpus, core::join(lines, "; "))};
  }

  const serving::Model& model_;
  const SearchRequest& request_;
  Tables& tables_;
  std::vector<PricedWorker> workers_;
  SearchResult result_;
};

double excess(const Candidate& candidate, const SearchRequest& request) {
  return std::max(candidate.ttft_ms / request.ttft_limit_ms,
                  candidate.tpot_ms / request.tpot_limit_ms);
}

bool is_better(const Candidate& a, const Candidate& b) {
  return std::tie(a.cluster_tokens_per_s_per_gpu, a.tokens_per_s_per_user) >
         std::tie(b.cluster_tokens_per_s_per_gpu, b.tokens_per_s_per_user);
}

}  // namespace

std::int64_t Candidate::gpus() const {
  if (!is_split()) return worker.gpus();
  return split.prefill_instances * split.prefill.gpus() + split.decode_instances * worker.gpus();
}

std::string Candidate::text() const {
  if (!is_split()) return worker.text();
  return fmt::format("{}P({}) + {}D({})", split.prefill_instances, split.prefill.text(),
                     split.decode_instances, worker.text());
}

core::Result<SearchResult> search(const serving::Model& model,
                                  const SearchRequest& request,
                                  Tables& tables) {
  return Search(model, request, tables).run();
}

Picks pick(const SearchResult& result, const SearchRequest& request, std::size_t most) {
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
                                            return excess(a, request) < excess(b, request);
                                          });
    if (closest == result.candidates.end()) return {};
    return {.best = {*closest}, .meet = false};
  }
  std::sort(best.begin(), best.end(), is_better);
  if (best.size() > most) best.resize(most);
  return {.best = std::move(best), .meet = true};
}

std::vector<Candidate> frontier(const std::vector<Candidate>& candidates) {
  std::vector<Candidate> sorted = candidates;
  std::sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.tokens_per_s_per_user, a.cluster_tokens_per_s_per_gpu, b.ttft_ms) >
           std::tie(b.tokens_per_s_per_user, b.cluster_tokens_per_s_per_gpu, a.ttft_ms);
  });
  std::vector<Candidate> best;
  for (Candidate& candidate : sorted) {
    if (best.empty() ||
        candidate.cluster_tokens_per_s_per_gpu > best.back().cluster_tokens_per_s_per_gpu)
      best.push_back(std::move(candidate));
  }
  return best;
}

}  // namespace assay::plan
