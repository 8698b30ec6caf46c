#include "plan/search/disaggregated.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plan/cache_transfer.h"
#include "plan/search/near_frontier.h"
#include "plan/search/pool_prices.h"
#include "plan/search/rate_matching.h"
#include "plan/search/sent_states.h"

namespace assay::plan {
namespace {

constexpr double kWorthMore = 1.001;

PoolRate rate_of(const PoolChoice& choice) {
  return {.gpus = choice.worker.gpus(), .requests_per_s = choice.requests_per_s};
}

// Pools of one system have one price book; each candidate's choices are found by its place.
class PoolSearch {
 public:
  PoolSearch(const serving::Model& model,
             const SearchRequest& request,
             const PoolSystem& prefill,
             const PoolSystem& decode)
      : model_(model), request_(request), prefill_(prefill), decode_(decode) {}

  core::Result<SearchResult> run() {
    if (request_.gpus < 2)
      return core::Error{"prompts and decoding on different workers need at least 2 GPUs"};
    if (!request_.has_tpot())
      return core::Error{
          "an answer of one token ends with its prompt, so that no instance has anything to "
          "decode"};
    const bool is_one_system = prefill_.tables == decode_.tables;
    prompts_ = price_prefill(model_, request_, prefill_, bound_);
    decodes_ = price_decode(model_, request_, decode_, bound_);
    result_.refused = std::move(decodes_.refused);
    if (!is_one_system || result_.refused.empty())
      result_.refused.insert(result_.refused.end(), prompts_.refused.begin(),
                             prompts_.refused.end());
    combine();
    if (result_.candidates.empty()) return nothing_left();
    if (!unsent_states_.empty())
      result_.notes.push_back("pairs of instances are left out: " + unsent_states_);
    result_.priced = result_.candidates.size();
    if (request_.scheduler == Scheduler::kSimulation) decide();
    for (Candidate& candidate : result_.candidates)
      add_shown(candidate);
    return std::move(result_);
  }

  [[nodiscard]] std::optional<double> benchmark_ttft_ms(const Candidate& candidate) const {
    const auto& [prefill, decode] = pairs_[candidate.place];
    const core::Result<CacheTransfer> transfer = transfer_of(candidate, *prefill, *decode);
    if (!transfer.ok()) return std::nullopt;
    ClosedLoop load = load_of(candidate);
    load.client_ms = benchmark_client_ms(prefill_.calibration);
    const core::Result<double> mean_ms = serve_disaggregated_ttft_ms(
        model_, pools_of(candidate, transfer.value()), *prefill->cost, *decode->cost, load);
    if (!mean_ms.ok()) return std::nullopt;
    return prefill_.calibration.ttft_factor * mean_ms.value();
  }

 private:
  void combine() {
    for (const PoolChoice& decode : decodes_.choices) {
      const PoolChoice* last = nullptr;
      double most = 0;  // of all GPUs, with the last worker of prompts
      bool is_sent = true;
      for (const PoolChoice& prefill : prompts_.choices) {
        if (last == nullptr || !(last->worker == prefill.worker)) {
          most = 0;
          is_sent = sends(prefill.worker, decode.worker);
        }
        last = &prefill;
        if (!is_sent) continue;
        const auto ratio =
            best_ratio(rate_of(prefill), rate_of(decode), request_.gpus, request_.most_copy_gpus);
        const std::int64_t least = least_copy_gpus(rate_of(prefill), rate_of(decode));
        least_gpus_ = least_gpus_ == 0 ? least : std::min(least_gpus_, least);
        // Prompts in larger batches come out later, which is worth it only where more are served.
        if (!ratio || ratio->of_all() <= most * kWorthMore) continue;
        most = ratio->of_all();
        add(prefill, decode, *ratio);
      }
    }
  }

  bool sends(const Worker& prefill, const Worker& decode) {
    const core::Status pools = check_pools(request_.engine, prefill, decode);
    if (!pools.ok()) unsent_ = pools.error().message;
    if (!pools.ok()) return false;
    const core::Status states =
        check_sent_states(model_, request_.engine, prefill_.version, prefill, decode);
    if (!states.ok()) unsent_ = unsent_states_ = states.error().message;
    return states.ok();
  }

  void add(const PoolChoice& prefill, const PoolChoice& decode, const Ratio& ratio) {
    std::optional<Candidate> made = candidate_of(prefill, decode, ratio);
    if (!made) return;
    made->place = pairs_.size();
    pairs_.push_back({&prefill, &decode});
    result_.candidates.push_back(*made);
  }

  [[nodiscard]] core::Result<CacheTransfer> transfer_of(const Candidate& candidate,
                                                        const PoolChoice& prefill,
                                                        const PoolChoice& decode) const {
    return cache_transfer(
        decode.sent_bytes_per_token, {prefill.worker.gpus(), prefill_.facts},
        {decode.worker.gpus(), decode_.facts},
        path_of_copies(prefill_, decode_, candidate.gpus(), candidate.copies, request_.gpus));
  }

  std::optional<Candidate> candidate_of(const PoolChoice& prefill,
                                        const PoolChoice& decode,
                                        const Ratio& ratio) {
    Candidate made{.worker = decode.worker,
                   .split = {.prefill = prefill.worker,
                             .prefill_instances = ratio.prefill,
                             .prefill_batch = prefill.batch,
                             .decode_batch = decode.batch,
                             .decode_instances = ratio.decode},
                   .copies = ratio.copies,
                   .tpot_ms = decode.ms,
                   .memory_bytes = std::max(prefill.memory_bytes, decode.memory_bytes),
                   .bars = latency_bars({.mean = decode.parts, .prompt = prefill.parts},
                                        calibration_errors_of(prefill_, decode_))};
    made.margins = LatencyMargins::of(made.bars, request_.confidence);
    const core::Result<CacheTransfer> transfer = transfer_of(made, prefill, decode);
    if (!transfer.ok()) {
      unsent_ = transfer.error().message;
      return std::nullopt;
    }
    const MeanLengths mean = mean_lengths(request_);
    made.split.transfer_ms = transfer_ms(transfer.value(), mean.prompt_tokens);
    const double served_ms = prefill.ms + made.split.transfer_ms;
    made.concurrency = ratio.decode * decode.batch * decode.served.batches() +
                       std::llround(std::ceil(ratio.requests_per_s * served_ms / 1000));
    const MatchedRate matched =
        matched_rate(rate_of(prefill), ratio,
                     {.prompt_ms = prefill.ms,
                      .sent_ms = made.split.transfer_ms,
                      .answer_ms = made.tpot_ms * static_cast<double>(mean.output_tokens - 1)},
                     static_cast<double>(made.concurrency));
    made.requests_per_s = matched.requests_per_s;
    made.ttft_ms = prefill_.calibration.ttft_factor * matched.ttft_ms;
    add_rates(made, made.requests_per_s * static_cast<double>(mean.output_tokens));
    return made;
  }

  void add_rates(Candidate& made, double tokens_per_s) const {
    made.tokens_per_s_per_user = 1000 / made.tpot_ms;
    made.tokens_per_s_per_gpu = tokens_per_s / static_cast<double>(made.gpus());
    made.cluster_tokens_per_s_per_gpu =
        tokens_per_s * static_cast<double>(made.copies) / static_cast<double>(request_.gpus);
  }

  void add_shown(Candidate& candidate) const {
    const auto& [prefill, decode] = pairs_[candidate.place];
    candidate.parts = decode->parts;
    add_energy(candidate, prefill->energy, decode->energy);
    candidate.rate_bar = rate_bar(candidate.bars, candidate.ttft_ms, candidate.tpot_ms,
                                  mean_lengths(request_).output_tokens);
  }

  // A request shares a step of prompts with those of its batch, and steps that decode with its
  // group.
  void add_energy(Candidate& candidate,
                  const StepEnergy& prompts,
                  const StepEnergy& decoding) const {
    const auto& [prefill, decode] = pairs_[candidate.place];
    const std::int64_t tokens = mean_lengths(request_).output_tokens;
    const double steps =
        expected_steps(request_.speculation, std::max<std::int64_t>(1, tokens - 1));
    const LoadEnergy energy = energy_of_pools(
        {.step = prompts, .gpus = prefill->worker.tp, .requests = prefill->batch},
        {.step = decoding, .steps = steps, .gpus = decode->worker.tp, .requests = decode->batch},
        static_cast<double>(tokens));
    candidate.power = energy.mean.shares();
    if (energy.mean.joules > 0) candidate.tokens_per_joule = 1 / energy.joules_per_token();
  }

  void decide() {
    for (const Candidate& candidate : near_frontier(result_.candidates, request_.ttft_limit_ms))
      simulate(candidate);
    for (const auto& of_worker : within_limits(result_.candidates, request_))
      find_best(of_worker);
    result_.candidates.clear();
    for (const auto& [place, simulated] : simulated_) {
      if (simulated) result_.candidates.push_back(*simulated);
    }
  }

  // Tries the candidates of a worker in the closed form's order until one keeps the limits. Those
  // that it takes to be as late, or as slow, as one that broke a limit are not tried.
  void find_best(const std::vector<const Candidate*>& of_worker) {
    constexpr int kMostTries = 32;
    double late_ms = std::numeric_limits<double>::infinity();
    double slow_ms = std::numeric_limits<double>::infinity();
    int tries = 0;
    for (const Candidate* candidate : of_worker) {
      if (candidate->ttft_ms >= late_ms || candidate->tpot_ms >= slow_ms) continue;
      if (++tries > kMostTries) return;
      const std::optional<Candidate>& found = simulate(*candidate);
      if (!found) continue;
      if (found->meets(request_)) return;
      if (found->judged_ttft_ms() > request_.ttft_limit_ms) late_ms = candidate->ttft_ms;
      if (found->judged_tpot_ms() > request_.tpot_limit_ms) slow_ms = candidate->tpot_ms;
    }
  }

  const std::optional<Candidate>& simulate(const Candidate& candidate) {
    const auto [known, is_new] = simulated_.try_emplace(candidate.place);
    if (is_new) known->second = simulate_one(candidate);
    return known->second;
  }

  [[nodiscard]] ServedPools pools_of(const Candidate& candidate,
                                     const CacheTransfer& transfer) const {
    const auto& [prefill, decode] = pairs_[candidate.place];
    return {.prefill = {prefill->served, candidate.split.prefill_instances},
            .prefill_batch = prefill->batch,
            .decode = {decode->served, candidate.split.decode_instances},
            .transfer = transfer};
  }

  [[nodiscard]] ClosedLoop load_of(const Candidate& candidate) const {
    return {.concurrency = candidate.concurrency,
            .prompt_tokens = request_.prompt_tokens,
            .output_tokens = request_.output_tokens,
            .least_length = request_.least_length,
            .prefix_tokens = request_.cached_prefix};
  }

  [[nodiscard]] std::optional<Candidate> simulate_one(const Candidate& candidate) const {
    const auto& [prefill, decode] = pairs_[candidate.place];
    const core::Result<CacheTransfer> transfer = transfer_of(candidate, *prefill, *decode);
    const double decoding_ms =
        candidate.tpot_ms * static_cast<double>(mean_lengths(request_).output_tokens);
    const core::Result<LongRunMetrics> metrics = serve_disaggregated_steadily(
        model_, pools_of(candidate, transfer.value()), *prefill->cost, *decode->cost,
        load_of(candidate), candidate.ttft_ms / (candidate.ttft_ms + decoding_ms));
    if (!metrics.ok()) return std::nullopt;
    Candidate made = candidate;
    made.is_simulated = true;
    made.ttft_ms = prefill_.calibration.ttft_factor * metrics.value().ttft_ms;
    made.tpot_ms = metrics.value().tpot_ms;
    made.requests_per_s = metrics.value().requests_per_s;
    made.split.transfer_ms = metrics.value().mean_transfer_ms;
    add_rates(made, metrics.value().output_tokens_per_s);
    return made;
  }

  [[nodiscard]] core::Error nothing_left() const {
    std::string why = unsent_;
    if (why.empty() && least_gpus_ > 0)
      why =
          fmt::format("prompts keep up with no instance that decodes, for which a copy has {} GPUs",
                      least_gpus_);
    if (why.empty() && !result_.refused.empty()) {
      const Refused& last = result_.refused.back();
      why = fmt::format("{}: {}", last.worker.text(), last.reason);
    }
    return core::Error{fmt::format("no disaggregated deployment of {} on {} GPUs is left: {}",
                                   model_.name, request_.gpus, why)};
  }

  struct Pair {
    const PoolChoice* prefill;
    const PoolChoice* decode;
  };

  // Results may outlive what the caller has of these.
  const serving::Model& model_;
  const SearchRequest request_;
  const PoolSystem prefill_;
  const PoolSystem decode_;
  BoundPrices bound_;
  PricedPool prompts_;
  PricedPool decodes_;
  std::vector<Pair> pairs_;
  std::map<std::size_t, std::optional<Candidate>> simulated_;  // by place
  std::string unsent_;           // why the engine sends nothing between some pair
  std::string unsent_states_;    // the same, of pairs between which it would send caches alone
  std::int64_t least_gpus_ = 0;  // of the smallest copy, whether it fits or not; 0: there is none
  SearchResult result_;
};

}  // namespace

std::optional<CalibrationErrors> calibration_errors_of(const PoolSystem& prefill,
                                                       const PoolSystem& decode) {
  if (!prefill.calibration_errors || !decode.calibration_errors) return std::nullopt;
  return CalibrationErrors{
      .points = std::min(prefill.calibration_errors->points, decode.calibration_errors->points),
      .ttft = prefill.calibration_errors->ttft,
      .tpot = decode.calibration_errors->tpot};
}

CachePath path_of_copies(const PoolSystem& prefill,
                         const PoolSystem& decode,
                         std::int64_t gpus_of_copy,
                         std::int64_t copies,
                         std::int64_t gpus) {
  const std::int64_t node = decode.facts->gpus_per_node;
  if (prefill.facts != decode.facts || gpus_of_copy > node) return CachePath::kBetweenNodes;
  const std::int64_t within = gpus / node * (node / gpus_of_copy) + (gpus % node) / gpus_of_copy;
  return within >= copies ? CachePath::kWithinNode : CachePath::kBetweenNodes;
}

core::Result<SearchResult> search_disaggregated(const serving::Model& model,
                                                const SearchRequest& request,
                                                const PoolSystem& prefill,
                                                const PoolSystem& decode) {
  SearchRequest found_again = request;
  if (!kept_cache(request.engine, prefill.version, Caches::kSent, model.family).finds_prefixes)
    found_again.cached_prefix = 0;
  const auto search = std::make_shared<PoolSearch>(model, found_again, prefill, decode);
  SearchResult result = ASSAY_TRY(search->run());
  result.benchmarks.emplace_back(
      [search](const Candidate& candidate) { return search->benchmark_ttft_ms(candidate); });
  return result;
}

}  // namespace assay::plan
