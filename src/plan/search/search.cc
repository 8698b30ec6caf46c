#include "plan/search/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "plan/closed_form.h"
#include "plan/price/step_prices.h"

namespace assay::plan {
namespace {

constexpr double kGb = 1e9;
constexpr std::int64_t kMostBatch = 1024;  // requests of a group

// 1 to 16, then on in steps of an eighth.
std::vector<std::int64_t> batches(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t batch = 1; batch <= most; batch += std::max<std::int64_t>(1, batch / 8))
    sizes.push_back(batch);
  return sizes;
}

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
    return std::move(result_);
  }

 private:
  core::Status add(const Worker& worker) {
    const serving::Deployment deployment = deployment_of(model_, worker, request_.precision);
    const std::int64_t request_tokens = request_.prompt_tokens + request_.output_tokens;
    const MemoryUse memory = memory_of(model_,
                                       {.deployment = deployment,
                                        .engine = request_.engine,
                                        .max_tokens = std::max(request_.token_budget, kMostBatch),
                                        .request_tokens = request_tokens},
                                       request_.memory(worker.gpus()));
    const std::int64_t most = std::min(kMostBatch, memory.cache_tokens / request_tokens);
    if (most == 0) return no_room(memory, request_tokens);
    const StepPrices prices = ASSAY_TRY(StepPrices::bind(model_, deployment, tables_));
    for (const std::int64_t batch : batches(most))
      result_.candidates.push_back(candidate(worker, batch, prices, memory));
    return {};
  }

  [[nodiscard]] Candidate candidate(const Worker& worker,
                                    std::int64_t batch,
                                    const StepPrices& prices,
                                    const MemoryUse& memory) const {
    const SteadyLatencies found = steady_latencies(prices, {.concurrency = batch,
                                                            .prompt_tokens = request_.prompt_tokens,
                                                            .output_tokens = request_.output_tokens,
                                                            .cached_prefix = request_.cached_prefix,
                                                            .token_budget = request_.token_budget});
    Candidate made{.worker = worker,
                   .copies = request_.gpus / worker.gpus(),
                   .concurrency = batch * worker.dp,
                   .ttft_ms = found.ttft_ms,
                   .tpot_ms = found.tpot_ms,
                   .requests_per_s = found.requests_per_s * static_cast<double>(worker.dp),
                   .tokens_per_s_per_user = 1000 / found.tpot_ms};
    const double tokens_per_s = made.requests_per_s * static_cast<double>(request_.output_tokens);
    made.tokens_per_s_per_gpu = tokens_per_s / static_cast<double>(worker.gpus());
    made.cluster_tokens_per_s_per_gpu =
        tokens_per_s * static_cast<double>(made.copies) / static_cast<double>(request_.gpus);
    const double cache = static_cast<double>(batch) *
                         (static_cast<double>(request_.prompt_tokens + request_.output_tokens) *
                              memory.bytes_per_token +
                          memory.bytes_per_request);
    made.memory_bytes = memory.weight_bytes + memory.activation_bytes + memory.communication_bytes +
                        memory.runtime_bytes + cache;
    return made;
  }

  static core::Error no_room(const MemoryUse& memory, std::int64_t request_tokens) {
    return core::Error{fmt::format(
        "{:.1f} GB of weights and {:.1f} GB of activations and libraries leave {:.1f} GB of "
        "{:.0f} GB, which hold no request of {} tokens",
        memory.weight_bytes / kGb,
        (memory.activation_bytes + memory.communication_bytes + memory.runtime_bytes) / kGb,
        std::max(0.0, memory.cache_bytes) / kGb, memory.capacity_bytes / kGb, request_tokens)};
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

core::Result<SearchResult> search(const serving::Model& model,
                                  const SearchRequest& request,
                                  Tables& tables) {
  return Search(model, request, tables).run();
}

Picks pick(const SearchResult& result, const SearchRequest& request, std::size_t most) {
  std::vector<Candidate> best;
  for (const Candidate& candidate : result.candidates) {
    if (!candidate.meets(request)) continue;
    const auto same = std::find_if(best.begin(), best.end(), [&](const Candidate& other) {
      return other.worker == candidate.worker;
    });
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
    return std::tie(a.tokens_per_s_per_user, a.cluster_tokens_per_s_per_gpu) >
           std::tie(b.tokens_per_s_per_user, b.cluster_tokens_per_s_per_gpu);
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
