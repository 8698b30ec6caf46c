#include "plan/serve.h"

#include <fmt/core.h>

#include <algorithm>

#include "plan/schedule/policy.h"
#include "plan/schedule/simulate.h"

namespace assay::plan {
namespace {

Lengths lengths_of(std::int64_t tokens, double least_length) {
  return {.kind = least_length < 1 ? Lengths::Kind::kUniform : Lengths::Kind::kFixed,
          .tokens = static_cast<double>(tokens),
          .ratio = least_length};
}

// The engine's limits, without its cache.
Limits settings_of(const ServedWorker& worker, const ClosedLoop& load) {
  Limits limits = policy_of(worker.engine).defaults();
  limits.groups = worker.groups;
  const std::int64_t batch = load.concurrency / worker.groups;
  limits.max_batch = std::max(limits.max_batch, batch);
  if (worker.max_tokens > 0) {
    limits.max_tokens = worker.max_tokens;
  } else if (worker.engine == Engine::kTrtllm) {
    limits.max_tokens = one_prompt_beside(batch, load.prompt_tokens);
  }
  if (load.prefix_tokens == 0) limits.prefix_cache = Limits::PrefixCache::kOff;
  return limits;
}

}  // namespace

std::int64_t one_prompt_beside(std::int64_t batch, std::int64_t prompt_tokens) {
  constexpr std::int64_t kSlack = 500;
  constexpr std::int64_t kRounded = 64;
  return (batch + prompt_tokens + kSlack + kRounded - 1) / kRounded * kRounded;
}

MemoryUse memory_of_worker(const serving::Model& model,
                           const ServedWorker& worker,
                           const ClosedLoop& load) {
  const Limits limits = settings_of(worker, load);
  return memory_of(model,
                   {.deployment = worker.deployment,
                    .engine = worker.engine,
                    .max_tokens = limits.max_tokens,
                    .max_batch = limits.max_batch,
                    .request_tokens = load.prompt_tokens + load.output_tokens},
                   worker.memory);
}

core::Result<Limits> limits_of(const serving::Model& model,
                               const ServedWorker& worker,
                               const ClosedLoop& load) {
  constexpr double kGb = 1e9;
  Limits limits = settings_of(worker, load);
  const MemoryUse memory = memory_of_worker(model, worker, load);
  const std::int64_t tokens = load.prompt_tokens + load.output_tokens;
  if (memory.cache_tokens < tokens) {
    return core::Error{fmt::format(
        "{:.1f} GB of weights and {:.1f} GB of activations and libraries leave {:.1f} GB of "
        "{:.0f} GB, which hold no request of {} tokens",
        memory.weight_bytes / kGb,
        (memory.activation_bytes + memory.communication_bytes + memory.runtime_bytes) / kGb,
        std::max(0.0, memory.cache_bytes) / kGb, memory.capacity_bytes / kGb, tokens)};
  }
  limits.kv_tokens = memory.cache_tokens;
  return limits;
}

core::Result<Workload> workload_of(const ClosedLoop& load, std::int64_t requests) {
  return make_workload(
      {.requests = requests,
       .prompt = lengths_of(load.prompt_tokens, load.least_length),
       .output = lengths_of(load.output_tokens, load.least_length),
       .arrivals = {.kind = Arrivals::Kind::kClosedLoop, .concurrency = load.concurrency},
       .prefix_tokens = load.prefix_tokens});
}

core::Result<ServingMetrics> serve(const serving::Model& model,
                                   const ServedWorker& worker,
                                   const StepCost& cost,
                                   const ClosedLoop& load) {
  const Limits limits = ASSAY_TRY(limits_of(model, worker, load));
  const Workload workload = ASSAY_TRY(workload_of(load, load.requests_each * load.concurrency));
  return simulate(cost, policy_of(worker.engine), limits, workload);
}

}  // namespace assay::plan
