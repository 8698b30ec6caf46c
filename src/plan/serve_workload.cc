#include "plan/serve_workload.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "plan/schedule/copies.h"
#include "plan/schedule/policy.h"

namespace assay::plan {
namespace {

std::int64_t prompt_tokens_of(const Workload& workload) {
  std::int64_t tokens = 0;
  for (const Request& request : workload.requests)
    tokens += request.prompt_tokens;
  return tokens;
}

Limits::PrefixCache prefix_cache_of(const ServedWorker& worker, const Workload& workload) {
  const bool is_of_use = worker.kept.finds_prefixes && !workload.pieces.empty();
  return is_of_use ? Limits::PrefixCache::kOn : Limits::PrefixCache::kOff;
}

// The memory is that of requests of mean lengths; a step of TensorRT-LLM holds the longest prompt.
core::Result<Limits> limits_for(const serving::Model& model,
                                const ServedWorker& worker,
                                const Workload& workload,
                                std::int64_t max_batch) {
  const WorkloadLengths lengths = workload_lengths(workload);
  const std::int64_t batch =
      max_batch > 0 ? max_batch : policy_of(worker.engine).defaults().max_batch;
  ServedWorker served = worker;
  if (worker.kept.is_of_one_batch && !workload.pieces.empty()) served.kept = kKeptWhole;
  if (worker.engine == Engine::kTrtllm && worker.max_tokens == 0)
    served.max_tokens =
        one_prompt_beside(batch * worker.speculation.verified(), lengths.prompt_most);
  core::Result<Limits> found = limits_of(model, served,
                                         {.concurrency = batch * worker.batches(),
                                          .prompt_tokens = lengths.prompt_mean,
                                          .output_tokens = lengths.output_mean});
  if (!found.ok() && served.max_tokens > worker.max_tokens) {
    return found.error().context(
        fmt::format("a step holds the longest prompt, of {} tokens", lengths.prompt_most));
  }
  if (!found.ok()) return found.error();
  Limits limits = std::move(found).value();
  limits.max_batch = batch;
  limits.prefix_cache = prefix_cache_of(worker, workload);
  return limits;
}

struct Begun {
  std::size_t requests = 0;  // that follow no other
  double last_ms = 0;
};

Begun begun_of(const Workload& workload) {
  Begun begun;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    if (workload.follows(i)) continue;
    ++begun.requests;
    begun.last_ms = workload.requests[i].arrival_ms;
  }
  return begun;
}

double reused_share_of(const ServingMetrics& serving, std::int64_t prompt_tokens) {
  const auto computed = static_cast<double>(serving.prompt_tokens_computed);
  return std::max(0.0, 1 - computed / static_cast<double>(prompt_tokens));
}

// Of instances that compute prompts alone.
core::Result<Limits> prompt_limits_for(const serving::Model& model,
                                       const ServedPools& pools,
                                       const Workload& workload) {
  const WorkloadLengths lengths = workload_lengths(workload);
  const ServedWorker& worker = pools.prefill.worker;
  const std::int64_t batch =
      pools.prefill_batch > 0 ? pools.prefill_batch : policy_of(worker.engine).defaults().max_batch;
  ServedWorker served = worker;
  // A step of TensorRT-LLM holds the longest prompt, and as many others as are asked for.
  if (worker.engine == Engine::kTrtllm && worker.max_tokens == 0) {
    const std::int64_t named = std::max<std::int64_t>(1, pools.prefill_batch);
    served.max_tokens =
        one_prompt_beside(0, std::max(lengths.prompt_most, named * lengths.prompt_mean));
  }
  Limits limits = ASSAY_TRY(prefill_limits(
      model, served, batch,
      {.concurrency = batch * worker.batches(), .prompt_tokens = lengths.prompt_mean}));
  limits.prefix_cache = prefix_cache_of(worker, workload);
  return limits;
}

}  // namespace

ServiceLevel before_calibration(ServiceLevel level, const Calibration& calibration) {
  if (level.ttft_ms) *level.ttft_ms /= calibration.ttft_factor;
  return level;
}

core::Result<WorkloadMetrics> serve_workload(const serving::Model& model,
                                             const ServedWorker& worker,
                                             const StepCost& cost,
                                             const Workload& workload,
                                             const WorkloadService& service) {
  ASSAY_TRY(check_workload(workload));
  const Limits limits = ASSAY_TRY(limits_for(model, worker, workload, service.max_batch));
  WorkloadMetrics metrics{.kv_tokens = limits.kv_tokens,
                          .prompt_tokens = prompt_tokens_of(workload)};
  metrics.serving = ASSAY_TRY(
      simulate_copies(cost, policy_of(worker.engine), limits, workload,
                      {.copies = service.copies, .level = service.level, .log = service.steps}));
  metrics.reused_share = reused_share_of(metrics.serving, metrics.prompt_tokens);
  return metrics;
}

core::Result<WorkloadMetrics> serve_workload(const serving::Model& model,
                                             const ServedPools& pools,
                                             const StepCost& prefill_cost,
                                             const StepCost& decode_cost,
                                             const Workload& workload,
                                             const WorkloadService& service) {
  ASSAY_TRY(check_workload(workload));
  const auto of_prompts = prompt_limits_for(model, pools, workload);
  if (!of_prompts.ok()) return of_prompts.error().context("prefill");
  auto of_decode = limits_for(model, pools.decode.worker, workload, service.max_batch);
  if (!of_decode.ok()) return of_decode.error().context("decode");
  WorkloadMetrics metrics{.kv_tokens = of_decode.value().kv_tokens,
                          .prompt_tokens = prompt_tokens_of(workload)};
  DisaggregatedMetrics found = ASSAY_TRY(simulate_disaggregated_copies(
      policy_of(pools.decode.worker.engine),
      {&prefill_cost, of_prompts.value(), pools.prefill.instances},
      {&decode_cost, of_decode.value(), pools.decode.instances}, pools.transfer, workload,
      {service.copies, service.level, service.prompt_steps, service.steps}));
  metrics.serving = std::move(found.serving);
  metrics.reused_share = reused_share_of(metrics.serving, metrics.prompt_tokens);
  metrics.pools = {.prefill_busy_share = found.prefill_busy_share,
                   .decode_busy_share = found.decode_busy_share,
                   .mean_transfer_ms = found.mean_transfer_ms};
  return metrics;
}

double most_reused_share(const Workload& workload) {
  std::unordered_set<std::uint64_t> known;
  std::int64_t reused = 0;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    bool is_prefix = true;
    std::int64_t found = 0;
    for (const std::uint64_t name : workload.pieces_of(request)) {
      is_prefix = is_prefix && known.contains(name);
      if (is_prefix) found += workload.piece_tokens;
      known.insert(name);
    }
    reused += std::min(found, request.prompt_tokens - 1);
    if (workload.turns.empty()) continue;
    const std::size_t answer = request.first_piece + request.pieces;
    for (std::size_t piece = 0; piece < workload.turns[i].answer_pieces; ++piece)
      known.insert(workload.pieces[answer + piece]);
  }
  return static_cast<double>(reused) / static_cast<double>(prompt_tokens_of(workload));
}

WorkloadLengths workload_lengths(const Workload& workload) {
  WorkloadLengths lengths;
  if (workload.requests.empty()) return lengths;
  std::int64_t outputs = 0;
  for (const Request& request : workload.requests) {
    outputs += request.output_tokens;
    lengths.prompt_most = std::max(lengths.prompt_most, request.prompt_tokens);
    lengths.request_most =
        std::max(lengths.request_most, request.prompt_tokens + request.output_tokens);
  }
  const auto mean = [&](std::int64_t tokens) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(tokens) /
                                                  static_cast<double>(workload.requests.size())));
  };
  lengths.prompt_mean = mean(prompt_tokens_of(workload));
  lengths.output_mean = mean(outputs);
  return lengths;
}

double rate_of(const Workload& workload) {
  const Begun begun = begun_of(workload);
  if (begun.last_ms <= 0) return 0;
  const double of_each =
      static_cast<double>(workload.requests.size()) / static_cast<double>(begun.requests);
  return of_each * 1000 * static_cast<double>(begun.requests - 1) / begun.last_ms;
}

core::Status set_rate(double per_second, Workload& workload) {
  const double now = rate_of(workload);
  if (now == 0)
    return core::Error{"all requests come at the same time, so that no rate can be made of them"};
  for (Request& request : workload.requests)
    request.arrival_ms *= now / per_second;
  return {};
}

}  // namespace assay::plan
