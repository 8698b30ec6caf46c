#include "plan/schedule/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "plan/schedule/clients.h"
#include "plan/schedule/worker.h"

namespace assay::plan {
namespace {

class Simulation {
 public:
  Simulation(const StepCost& cost,
             const Policy& policy,
             const Limits& limits,
             const Workload& workload,
             const SimulationOptions& options)
      : workload_(workload),
        limits_(limits),
        options_(options),
        recorder_(workload, options.warm_up_requests),
        worker_(cost, policy, limits, workload, options.stepping, &recorder_),
        clients_(workload, limits.request_ms) {}

  core::Result<ServingMetrics> run() {
    send();
    while (ended_ < workload_.requests.size()) {
      ASSAY_TRY(worker_.advance());
      for (const std::size_t request : worker_.ended()) {
        recorder_.ended(request, worker_.now_ms());
        clients_.ended(worker_.now_ms());
        ++ended_;
      }
      send();
    }
    ServingMetrics metrics;
    recorder_.write(options_.level, metrics);
    worker_.work_done().write(limits_.groups, metrics);
    return metrics;
  }

 private:
  void send() {
    while (const std::optional<Sent> sent = clients_.next()) {
      recorder_.arrived(sent->request, sent->sent_ms);
      worker_.send(sent->request, sent->at_ms);
    }
  }

  const Workload& workload_;
  const Limits& limits_;
  const SimulationOptions& options_;
  MetricsRecorder recorder_;
  Worker worker_;
  Clients clients_;
  std::size_t ended_ = 0;
};

core::Status check_limits(const Limits& limits) {
  const auto positive = [](std::int64_t value, const char* name) -> core::Status {
    if (value < 1) return core::Error{fmt::format("{} is {}: it must be at least 1", name, value)};
    return {};
  };
  ASSAY_TRY(positive(limits.max_batch, "the greatest batch"));
  ASSAY_TRY(positive(limits.max_tokens, "the number of tokens of a step"));
  ASSAY_TRY(positive(limits.max_prefill_tokens, "the number of prompt tokens of a step"));
  ASSAY_TRY(positive(limits.kv_block_tokens, "the number of tokens of a block of the cache"));
  ASSAY_TRY(positive(limits.kv_tokens, "the number of tokens that the cache holds"));
  ASSAY_TRY(positive(limits.groups, "the number of groups"));
  if (!std::is_sorted(limits.graph_batches.begin(), limits.graph_batches.end()))
    return core::Error{"the batches of CUDA graphs must grow"};
  if (!(limits.request_ms >= 0))
    return core::Error{"the time of a request in the front end cannot be negative"};
  if (!(limits.eager_step_ms >= 0))
    return core::Error{"the time of an eager step cannot be negative"};
  return {};
}

core::Status check_fit(const Limits& limits, const Workload& workload) {
  const std::int64_t cache = limits.kv_tokens / limits.kv_block_tokens * limits.kv_block_tokens;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    if (request.prompt_tokens + request.output_tokens > cache)
      return core::Error{
          fmt::format("request {} needs {} tokens of the cache, {} of its prompt and {} of its "
                      "output, but the cache holds {}",
                      i, request.prompt_tokens + request.output_tokens, request.prompt_tokens,
                      request.output_tokens, cache)};
    // What of a prompt others share need not be computed, so that it may fit all the same.
    if (limits.prompts == Limits::Prompts::kWhole && request.pieces == 0 &&
        request.prompt_tokens > limits.max_tokens)
      return core::Error{
          fmt::format("request {} has a prompt of {} tokens, but a step has at most {} and prompts "
                      "are not cut: allow more "
                      "tokens, or chunks",
                      i, request.prompt_tokens, limits.max_tokens)};
  }
  return {};
}

}  // namespace

core::Result<ServingMetrics> simulate(const StepCost& cost,
                                      const Policy& policy,
                                      const Limits& limits,
                                      const Workload& workload,
                                      const SimulationOptions& options) {
  ASSAY_TRY(check_workload(workload));
  ASSAY_TRY(check_limits(limits));
  ASSAY_TRY(check_fit(limits, workload));
  const auto requests = static_cast<std::int64_t>(workload.requests.size());
  if (options.warm_up_requests < 0 || options.warm_up_requests >= requests)
    return core::Error{
        fmt::format("{} of {} requests are left out as warm-up: at least one must be measured",
                    options.warm_up_requests, requests)};
  return Simulation(cost, policy, limits, workload, options).run();
}

}  // namespace assay::plan
