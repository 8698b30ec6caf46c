#include "plan/search/workload_copies.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/text.h"
#include "plan/cache_transfer.h"
#include "plan/search/near_frontier.h"
#include "plan/search/pool_prices.h"
#include "plan/uncertainty/step_parts.h"

namespace assay::plan {
namespace {

// Splits that are simulated, of all that the closed form priced.
constexpr std::size_t kMostSplits = 24;

class CopiesBuilder {
 public:
  CopiesBuilder(const serving::Model& model,
                const SearchRequest& request,
                const Workload& workload,
                const ServiceLevel& level,
                const EngineSystems& engine)
      : model_(model),
        request_(request),
        workload_(workload),
        level_(before_calibration(level, engine.system.calibration)),
        engine_(engine),
        bound_(std::make_shared<BoundPrices>()) {
    made_.prices = bound_;
  }

  void add_whole() {
    const store::SystemFacts& facts = *engine_.system.facts;
    const std::int64_t most = request_.most_gpus_of_stage(facts.gpus_per_node);
    Workers workers = workers_of(model_, engine_.engine, engine_.precision, most);
    Workers staged =
        staged_workers_of(model_, workers.possible, request_.most_stages, request_.gpus);
    for (Workers* of : {&workers, &staged}) {
      for (ExcludedWorker& excluded : of->excluded)
        made_.refused.push_back({excluded.worker, std::move(excluded.reason)});
      for (const Worker& worker : of->possible)
        if (core::Status done = add_worker(worker); !done.ok())
          made_.refused.push_back({worker, done.error().message});
    }
  }

  // Error: no pair of pools is left; it says why.
  core::Status add_splits() {
    std::vector<Candidate> chosen;
    const double reuse = most_reused_share(workload_);
    std::size_t priced = 0;
    core::Error problem{""};
    for (const double share : {0.0, reuse}) {
      if (share == 0 && !chosen.empty()) continue;
      const core::Result<SearchResult> found = priced_splits(share);
      if (!found.ok()) {
        problem = found.error();
        continue;
      }
      priced = std::max(priced, found.value().priced);
      choose(found.value(), chosen);
    }
    if (chosen.empty()) return problem;
    std::stable_sort(chosen.begin(), chosen.end(), [](const Candidate& a, const Candidate& b) {
      return a.cluster_tokens_per_s_per_gpu > b.cluster_tokens_per_s_per_gpu;
    });
    if (chosen.size() > kMostSplits) chosen.resize(kMostSplits);
    for (const Candidate& one : chosen)
      ASSAY_TRY(add_split(one));
    made_.notes.push_back(fmt::format(
        "of {} disaggregated deployments that were priced {} were simulated: those that the closed "
        "form takes to be near the frontier for the mean lengths",
        priced, chosen.size()));
    return {};
  }

  [[nodiscard]] WorkloadCopies done() { return std::move(made_); }

 private:
  core::Status add_worker(const Worker& worker) {
    ServedWorker served = served_instance(model_, engine_.engine, engine_.precision, worker,
                                          engine_.system, request_.speculation);
    served.deployment.most_tokens = workload_lengths(workload_).request_most;
    served.kept = kept_cache(engine_.engine, engine_.system.version, Caches::kStay, model_.family);
    const BoundPrices::Priced priced =
        ASSAY_TRY(bound_->of(model_, served.deployment, worker, engine_.system));
    if (made_.copies.empty()) note_bound(*priced.prices);
    // Whether it fits is found by the simulation, which says how far it is from that.
    const StepCost* cost = priced.cost;
    made_.copies.push_back(
        {.worker = worker, .serve = [of = context(), served, cost](std::int64_t copies) {
           return serve_workload(of.model, served, *cost, of.workload,
                                 {.copies = copies, .level = of.level});
         }});
    return {};
  }

  void note_bound(const StepPrices& prices) {
    const WorkloadLengths lengths = workload_lengths(workload_);
    const LoadParts parts =
        parts_of_load(costs_of_load(prices, {.concurrency = 16,
                                             .prompt_tokens = lengths.prompt_mean,
                                             .output_tokens = lengths.output_mean,
                                             .speculation = request_.speculation}));
    if (std::string note = bound_note(parts.mean); !note.empty())
      made_.notes.push_back(std::move(note));
  }

  // Pools that match for prompts of which caches have this share.
  [[nodiscard]] core::Result<SearchResult> priced_splits(double reused_share) const {
    const WorkloadLengths lengths = workload_lengths(workload_);
    SearchRequest mean = request_;
    mean.engine = engine_.engine;
    mean.precision = engine_.precision;
    mean.scheduler = Scheduler::kClosedForm;
    mean.prompt_tokens = lengths.prompt_mean;
    mean.output_tokens = lengths.output_mean;
    mean.least_length = 1;
    const double reused = reused_share * static_cast<double>(lengths.prompt_mean);
    mean.cached_prefix = std::min<std::int64_t>(lengths.prompt_mean - 1, std::llround(reused));
    return search_disaggregated(model_, mean, engine_.system, engine_.decode_system);
  }

  void choose(const SearchResult& found, std::vector<Candidate>& chosen) const {
    const auto add = [&](const Candidate& one) {
      const bool is_known = std::any_of(chosen.begin(), chosen.end(), [&](const Candidate& other) {
        return one.is_same_copy(other);
      });
      if (!is_known) chosen.push_back(one);
    };
    for (const Candidate& one : near_frontier(found.candidates, request_.ttft_limit_ms))
      add(one);
    for (const auto& of_worker : within_limits(found.candidates, request_))
      add(*of_worker.front());
  }

  core::Status add_split(const Candidate& candidate) {
    const Split& split = candidate.split;
    const PoolSystem& of_prompts = engine_.system;
    const PoolSystem& of_decode = engine_.decode_system;
    ServedWorker prefill = served_instance(model_, engine_.engine, engine_.precision, split.prefill,
                                           of_prompts, request_.speculation);
    ServedWorker decode = served_instance(model_, engine_.engine, engine_.precision,
                                          candidate.worker, of_decode, request_.speculation);
    prefill.deployment.most_tokens = decode.deployment.most_tokens =
        workload_lengths(workload_).request_most;
    const StepCost* prompt_cost =
        ASSAY_TRY(bound_->of(model_, prefill.deployment, split.prefill, of_prompts)).cost;
    const StepCost* cost =
        ASSAY_TRY(bound_->of(model_, decode.deployment, candidate.worker, of_decode)).cost;
    if (made_.copies.empty())
      note_bound(
          *ASSAY_TRY(bound_->of(model_, decode.deployment, candidate.worker, of_decode)).prices);
    const double sent =
        sent_bytes_per_token(model_, decode, workload_lengths(workload_).prompt_mean);
    const std::int64_t gpus = candidate.gpus();
    const auto serve = [of = context(), split, prefill, decode, prompt_cost, cost, sent,
                        gpus](std::int64_t copies) -> core::Result<WorkloadMetrics> {
      const PoolSystem& system = of.engine.system;
      const PoolSystem& decode_system = of.engine.decode_system;
      const std::int64_t all = std::max(of.gpus, copies * gpus);
      const CacheTransfer transfer =
          ASSAY_TRY(cache_transfer(sent, {prefill.deployment.tp * prefill.batches(), system.facts},
                                   {decode.deployment.tp * decode.batches(), decode_system.facts},
                                   path_of_copies(system, decode_system, gpus, copies, all)));
      return serve_workload(of.model,
                            {.prefill = {prefill, split.prefill_instances},
                             .prefill_batch = 0,
                             .decode = {decode, split.decode_instances},
                             .transfer = transfer},
                            *prompt_cost, *cost, of.workload,
                            {.copies = copies, .level = of.level});
    };
    made_.copies.push_back({.worker = candidate.worker, .split = split, .serve = serve});
    return {};
  }

  struct Context {
    const serving::Model& model;
    const Workload& workload;
    const EngineSystems& engine;
    ServiceLevel level;
    std::int64_t gpus;
  };

  [[nodiscard]] Context context() const {
    return {model_, workload_, engine_, level_, request_.gpus};
  }

  const serving::Model& model_;
  const SearchRequest& request_;
  const Workload& workload_;
  ServiceLevel level_;
  const EngineSystems& engine_;
  std::shared_ptr<BoundPrices> bound_;
  WorkloadCopies made_;
};

}  // namespace

core::Error no_copy_left(const std::string& model, const std::vector<Refused>& refused) {
  std::set<std::string> told;
  std::vector<std::string> lines;
  for (const Refused& one : refused) {
    if (told.insert(one.reason).second) lines.push_back(one.worker.text() + ": " + one.reason);
  }
  return core::Error{
      fmt::format("no deployment of {} serves the workload: {}", model, core::join(lines, "; "))};
}

core::Result<WorkloadCopies> workload_copies(const serving::Model& model,
                                             const SearchRequest& request,
                                             const Workload& workload,
                                             const ServiceLevel& level,
                                             ServingMode mode,
                                             const EngineSystems& engine) {
  ASSAY_TRY(check_workload(workload));
  CopiesBuilder builder(model, request, workload, level, engine);
  if (mode != ServingMode::kDisaggregated) builder.add_whole();
  std::string no_splits;
  if (mode != ServingMode::kAggregated) {
    const core::Status splits = builder.add_splits();
    if (!splits.ok()) no_splits = splits.error().message;
  }
  WorkloadCopies made = builder.done();
  if (!made.copies.empty() && !no_splits.empty()) made.notes.push_back(no_splits);
  if (!made.copies.empty()) return made;
  if (mode == ServingMode::kDisaggregated) return core::Error{no_splits};
  return no_copy_left(model.name, made.refused);
}

}  // namespace assay::plan
