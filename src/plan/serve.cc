#include "plan/serve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "plan/schedule/policy.h"
#include "plan/schedule/simulate.h"
#include "plan/schedule/step_time.h"

namespace assay::plan {
namespace {

Lengths lengths_of(std::int64_t tokens, double least_length) {
  return {.kind = least_length < 1 ? Lengths::Kind::kUniform : Lengths::Kind::kFixed,
          .tokens = static_cast<double>(tokens),
          .ratio = least_length};
}

// Steps as the engine runs them: those that a CUDA graph holds are filled up to its size.
class RunCost final : public StepCost {
 public:
  RunCost(const StepCost& cost, const Policy& policy, const Limits& limits)
      : time_(cost, policy, limits) {}

  [[nodiscard]] double ms(const Step& step) const override { return time_.ms(step); }

 private:
  StepTime time_;
};

// Where graphs count tokens, those of a request that verifies drafts lie in one graph: vLLM rounds
// the sizes up (adjust_cudagraph_sizes_for_spec_decode()) and drops what is then above the largest.
void round_graphs(std::int64_t verified, std::vector<std::int64_t>& sizes) {
  if (sizes.empty() || verified == 1) return;
  const std::int64_t most = sizes.back();
  for (std::int64_t& size : sizes)
    size = (size + verified - 1) / verified * verified;
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  sizes.erase(std::upper_bound(sizes.begin(), sizes.end(), most), sizes.end());
}

// Groups of several GPUs exchange the tokens of a step in equal parts, so that SGLang drops all
// other sizes (get_batch_sizes_to_capture()). Where tokens of drafts are verified, the target keeps
// more of them, but the model that drafts has one token of each request in a step.
std::int64_t graph_multiple_of(const ServedWorker& worker) {
  if (worker.engine != Engine::kSglang || worker.groups < 2) return 1;
  return worker.deployment.tp;
}

// The engine's limits, without its cache.
Limits settings_of(const ServedWorker& worker, const ClosedLoop& load) {
  const Policy& policy = policy_of(worker.engine);
  Limits limits = policy.defaults();
  if (policy.graphs == Policy::Graphs::kAllSmall)
    round_graphs(worker.speculation.verified(), limits.graph_batches);
  limits.graph_multiple = graph_multiple_of(worker);
  std::erase_if(limits.graph_batches,
                [&](std::int64_t size) { return size % limits.graph_multiple != 0; });
  limits.groups = worker.batches();
  limits.groups_of_experts = worker.groups;
  limits.speculation = worker.speculation;
  limits.client_ms = load.client_ms;
  const std::int64_t batch = load.concurrency / worker.batches();
  limits.max_batch = std::max(limits.max_batch, batch);
  if (worker.max_tokens > 0) {
    limits.max_tokens = worker.max_tokens;
  } else if (worker.engine == Engine::kTrtllm) {
    limits.max_tokens =
        one_prompt_beside(batch * worker.speculation.verified(), load.prompt_tokens);
  }
  if (load.prefix_tokens == 0 || !worker.kept.finds_prefixes)
    limits.prefix_cache = Limits::PrefixCache::kOff;
  return limits;
}

KeptCache kept_of(const ServedWorker& worker, const ClosedLoop& load) {
  const bool is_one_batch = worker.batches() == 1 && load.prefix_tokens == 0;
  return worker.kept.is_of_one_batch && !is_one_batch ? kKeptWhole : worker.kept;
}

// Blocks that another prompt fills to their end are shared.
std::int64_t shared_tokens(const Limits& limits, const ClosedLoop& load) {
  if (limits.prefix_cache == Limits::PrefixCache::kOff) return 0;
  return load.prefix_tokens / limits.kv_block_tokens * limits.kv_block_tokens;
}

}  // namespace

std::int64_t one_prompt_beside(std::int64_t decode_tokens, std::int64_t prompt_tokens) {
  constexpr std::int64_t kSlack = 500;
  constexpr std::int64_t kRounded = 64;
  return (decode_tokens + prompt_tokens + kSlack + kRounded - 1) / kRounded * kRounded;
}

MemoryUse memory_of_worker(const serving::Model& model,
                           const ServedWorker& worker,
                           const ClosedLoop& load) {
  const Limits limits = settings_of(worker, load);
  const MemoryRequest request{
      .deployment = worker.deployment,
      .pp = worker.pp,
      .engine = worker.engine,
      .max_tokens = limits.max_tokens,
      .max_batch = worker.max_batch > 0 ? worker.max_batch : limits.max_batch,
      .kept = kept_of(worker, load),
      .request_tokens = load.prompt_tokens + load.output_tokens,
      .output_tokens = load.output_tokens,
      .shared_tokens = shared_tokens(limits, load)};
  if (worker.layers != nullptr) return worker.layers->of(request, worker.memory);
  return memory_of(model, request, worker.memory);
}

std::int64_t held_requests(const MemoryUse& memory,
                           const ServedWorker& worker,
                           const ClosedLoop& load) {
  const std::int64_t own = memory.tokens_of_batch(worker.pp) - memory.shared_tokens;
  return own / (load.prompt_tokens + load.output_tokens - memory.shared_tokens);
}

std::int64_t most_held(const serving::Model& model,
                       ServedWorker worker,
                       ClosedLoop load,
                       std::int64_t most) {
  const bool names_batch = worker.max_batch > 0;
  std::int64_t low = 0;
  std::int64_t high = most + 1;
  while (high - low > 1) {
    const std::int64_t batch = low + (high - low) / 2;
    load.concurrency = batch * worker.batches();
    if (names_batch) worker.max_batch = batch;
    const MemoryUse memory = memory_of_worker(model, worker, load);
    (held_requests(memory, worker, load) >= batch ? low : high) = batch;
  }
  return low;
}

namespace {

// Says that a request would fit what the system's file states, which is more than was measured to
// be free; "" where it would not. Precondition: it does not fit the latter.
std::string stated_in_words(const serving::Model& model,
                            const ServedWorker& worker,
                            const ClosedLoop& load) {
  constexpr double kGb = 1e9;
  if (worker.memory.stated_bytes <= worker.memory.capacity_bytes) return "";
  ServedWorker stated = worker;
  stated.memory.capacity_bytes = worker.memory.stated_bytes;
  const MemoryUse memory = memory_of_worker(model, stated, load);
  if (held_requests(memory, worker, load) == 0) return "";
  return fmt::format(
      " (the {:.1f} GB of the system's file would hold one, but no more than {:.1f} GB were free "
      "where assay measured the system of this name)",
      worker.memory.stated_bytes / kGb, worker.memory.capacity_bytes / kGb);
}

}  // namespace

core::Result<Limits> limits_of(const serving::Model& model,
                               const ServedWorker& worker,
                               const ClosedLoop& load) {
  constexpr double kGb = 1e9;
  Limits limits = settings_of(worker, load);
  const MemoryUse memory = memory_of_worker(model, worker, load);
  if (held_requests(memory, worker, load) == 0) {
    return core::Error{fmt::format(
        "{:.1f} GB of weights and {:.1f} GB of activations and libraries leave {:.1f} GB of "
        "{:.0f} GB, which hold no request of {} tokens{}",
        memory.weight_bytes / kGb,
        (memory.activation_bytes + memory.communication_bytes + memory.runtime_bytes) / kGb,
        std::max(0.0, memory.cache_bytes) / kGb, memory.capacity_bytes / kGb,
        load.prompt_tokens + load.output_tokens, stated_in_words(model, worker, load))};
  }
  limits.kv_tokens = memory.tokens_of_batch(worker.pp);
  return limits;
}

double benchmark_client_ms(const Calibration& calibration) {
  return calibration == Calibration() ? kBenchmarkClientMs : 0;
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

core::Result<SteadyMetrics> serve_steadily(const serving::Model& model,
                                           const ServedWorker& worker,
                                           const StepCost& cost,
                                           const ClosedLoop& load,
                                           double waiting) {
  const Limits limits = ASSAY_TRY(limits_of(model, worker, load));
  const SteadySpan span = usual_span(load.concurrency);
  const Workload workload = ASSAY_TRY(workload_of(load, load.concurrency + span.most_requests()));
  return simulate_steady(cost, policy_of(worker.engine), limits, workload, span, waiting);
}

SteadyLoad steady_load_of(const ServedWorker& worker, const ClosedLoop& load) {
  const Limits limits = settings_of(worker, load);
  const auto mean_of = [&](std::int64_t tokens) {
    return std::llround(mean_tokens(static_cast<double>(tokens), load.least_length));
  };
  PromptSteps prompts = PromptSteps::kCutBeside;
  if (limits.prompts == Limits::Prompts::kWhole) prompts = PromptSteps::kWholeBeside;
  if (worker.engine == Engine::kSglang) prompts = PromptSteps::kApart;
  return {.concurrency = load.concurrency / worker.batches(),
          .groups = worker.batches(),
          .groups_of_experts = worker.groups,
          .prompt_tokens = mean_of(load.prompt_tokens),
          .output_tokens = mean_of(load.output_tokens),
          .cached_prefix = worker.kept.finds_prefixes ? load.prefix_tokens : 0,
          .token_budget = limits.max_tokens,
          .prompts = prompts,
          .speculation = worker.speculation};
}

SteadyLatencies steady_latencies_of(const ServedWorker& worker,
                                    const StepCost& cost,
                                    const ClosedLoop& load) {
  const Limits limits = settings_of(worker, load);
  const RunCost run_cost(cost, policy_of(worker.engine), limits);
  SteadyLatencies found = steady_latencies(run_cost, steady_load_of(worker, load));
  found.requests_per_s *= static_cast<double>(worker.batches());
  return found;
}

}  // namespace assay::plan
