#include "plan/serve_workload.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
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

// The memory is that of requests of mean lengths; a step of TensorRT-LLM holds the longest prompt.
core::Result<Limits> limits_for(const serving::Model& model,
                                const ServedWorker& worker,
                                const Workload& workload,
                                std::int64_t max_batch) {
  const WorkloadLengths lengths = workload_lengths(workload);
  const std::int64_t batch =
      max_batch > 0 ? max_batch : policy_of(worker.engine).defaults().max_batch;
  ServedWorker served = worker;
  if (worker.engine == Engine::kTrtllm && worker.max_tokens == 0)
    served.max_tokens = one_prompt_beside(batch, lengths.prompt_most);
  core::Result<Limits> found = limits_of(model, served,
                                         {.concurrency = batch * worker.groups,
                                          .prompt_tokens = lengths.prompt_mean,
                                          .output_tokens = lengths.output_mean});
  if (!found.ok() && served.max_tokens > worker.max_tokens) {
    return found.error().context(
        fmt::format("a step holds the longest prompt, of {} tokens", lengths.prompt_most));
  }
  if (!found.ok()) return found.error();
  Limits limits = std::move(found).value();
  limits.max_batch = batch;
  limits.prefix_cache =
      workload.pieces.empty() ? Limits::PrefixCache::kOff : Limits::PrefixCache::kOn;
  return limits;
}

double last_arrival_ms(const Workload& workload) {
  return workload.requests.empty() ? 0 : workload.requests.back().arrival_ms;
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
  metrics.serving = ASSAY_TRY(simulate_copies(cost, policy_of(worker.engine), limits, workload,
                                              service.copies, service.level));
  const double computed = static_cast<double>(metrics.serving.prompt_tokens_computed);
  metrics.reused_share = std::max(0.0, 1 - computed / static_cast<double>(metrics.prompt_tokens));
  return metrics;
}

WorkloadLengths workload_lengths(const Workload& workload) {
  WorkloadLengths lengths;
  if (workload.requests.empty()) return lengths;
  std::int64_t outputs = 0;
  for (const Request& request : workload.requests) {
    outputs += request.output_tokens;
    lengths.prompt_most = std::max(lengths.prompt_most, request.prompt_tokens);
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
  const double last = last_arrival_ms(workload);
  return last > 0 ? 1000 * static_cast<double>(workload.requests.size() - 1) / last : 0;
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
