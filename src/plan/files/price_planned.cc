#include "plan/files/price_planned.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "plan/price/step_prices.h"
#include "plan/schedule/policy.h"
#include "plan/schedule/simulate.h"
#include "plan/schedule/workload.h"
#include "plan/serve.h"

namespace assay::plan {
namespace {

core::Status check_load(const PlannedDeployment& planned) {
  const Worker& worker = planned.worker;
  const std::int64_t batches = worker.dp * worker.pp;
  if (planned.concurrency % batches == 0) return {};
  return core::Error{fmt::format("{} requests in flight do not divide among {} {}",
                                 planned.concurrency, batches,
                                 worker.pp > 1 ? "batches of the stages" : "groups")};
}

// The keys that each layer keeps, 0 for all, until they repeat.
std::vector<std::int64_t> window_pattern(const serving::Model& model) {
  std::vector<std::int64_t> windows(static_cast<std::size_t>(model.num_layers()), 0);
  for (const serving::EqualLayers& kind : model.layers) {
    const auto* attention = std::get_if<serving::Attention>(&kind.layer.mixer);
    if (attention == nullptr) continue;
    for (const std::int64_t index : kind.indices)
      windows[static_cast<std::size_t>(index)] = attention->window;
  }
  std::size_t period = 1;
  while (!std::equal(windows.begin() + static_cast<std::ptrdiff_t>(period), windows.end(),
                     windows.begin()))
    ++period;
  windows.resize(period);
  return windows;
}

}  // namespace

core::Status check_context(const serving::Model& model, PlannedDeployment& planned) {
  planned.context = model.context;
  const std::int64_t tokens = planned.prompt_tokens + planned.output_tokens;
  if (model.context == 0 || tokens <= model.context) return {};
  return core::Error{fmt::format(
      "{} takes sequences of up to {} tokens (max_position_embeddings), and a prompt of {} with an "
      "answer of {} has {}",
      model.name, model.context, planned.prompt_tokens, planned.output_tokens, tokens)};
}

core::Status check_step_tokens(const PlannedDeployment& planned) {
  const bool counts_stages = planned.engine == Engine::kVllm;
  const std::int64_t requests = planned.limits.max_batch * (counts_stages ? planned.worker.pp : 1);
  if (planned.limits.max_tokens >= requests) return {};
  return core::Error{fmt::format("a step of {} tokens is too small for {} requests that decode",
                                 planned.limits.max_tokens, requests)};
}

std::string room_in_words(const PlannedDeployment& planned) {
  const std::int64_t batch = planned.concurrency / planned.batches();
  if (planned.held_requests >= batch) return "";
  return fmt::format(
      "the cache holds {} of the {} requests at once: others wait, or are thrown out and computed "
      "again; --batch {} is the most",
      planned.held_requests, batch, planned.most_held);
}

void fill_held(const serving::Model& model,
               const ServedWorker& served,
               const ClosedLoop& load,
               PlannedDeployment& planned) {
  const std::int64_t batch = load.concurrency / served.batches();
  planned.held_requests = held_requests(memory_of_worker(model, served, load), served, load);
  planned.most_held = planned.held_requests < batch ? most_held(model, served, load, batch) : batch;
}

void fill_memory(const serving::Model& model,
                 const ServedWorker& served,
                 PlannedDeployment& planned) {
  planned.memory_share = default_fraction(planned.engine);
  planned.cache = served.deployment.precision.cache;
  const MemoryUse use =
      memory_of(model, {.deployment = served.deployment, .pp = served.pp, .engine = planned.engine},
                served.memory);
  planned.weight_bytes = use.weight_bytes * static_cast<double>(planned.worker.gpus());
}

void fill_windows(const serving::Model& model,
                  const ServedWorker& served,
                  const ClosedLoop& load,
                  PlannedDeployment& planned) {
  if (!served.kept.is_apart) return;
  const MemoryUse use = memory_of_worker(model, served, load);
  planned.window_ratio = 1;
  if (use.window_tokens == 0) return;
  planned.windows = window_pattern(model);
  planned.window_share = use.window_share;
  planned.window_ratio = std::min(1.0, use.window_tokens / static_cast<double>(use.cache_tokens));
}

core::Status price_planned(const serving::Model& model,
                           const GpuMemory& memory,
                           const Pipeline& pipeline,
                           Tables& tables,
                           PlannedDeployment& planned) {
  const serving::Precision precision = served_precision(planned.engine, model, planned.cache_type);
  planned.has_experts = model.has_experts();
  ASSAY_TRY(check_worker(model, planned.engine, precision, planned.worker));
  ASSAY_TRY(check_load(planned));
  ASSAY_TRY(check_context(model, planned));
  ASSAY_TRY(check_speculation(model, planned.speculation));
  const Worker& worker = planned.worker;
  serving::Deployment deployment =
      deployment_of(model, worker, precision, planned.speculation.tokens,
                    planned.prompt_tokens + planned.output_tokens);
  deployment.head_norm = head_norm_of(planned.engine, planned.engine_version);
  const ServedWorker served{
      .engine = planned.engine,
      .deployment = deployment,
      .groups = worker.dp,
      .memory = memory,
      .max_tokens = planned.step_tokens,
      .max_batch = planned.concurrency / planned.batches(),
      .pp = worker.pp,
      .speculation = planned.speculation,
      .kept = kept_cache(planned.engine, planned.engine_version, Caches::kStay, model.family)};
  const ClosedLoop load{.concurrency = planned.concurrency,
                        .prompt_tokens = planned.prompt_tokens,
                        .output_tokens = planned.output_tokens,
                        .prefix_tokens = planned.prefix_tokens,
                        .client_ms = benchmark_client_ms(planned.calibration)};
  const Limits priced = ASSAY_TRY(limits_of(model, served, load));
  planned.limits = deployed_limits(priced, planned.engine, planned.concurrency / served.batches());
  ASSAY_TRY(check_step_tokens(planned));
  fill_memory(model, served, planned);
  fill_held(model, served, load, planned);
  fill_windows(model, served, load, planned);

  const auto prices = ASSAY_TRY(StepPrices::bind(model, served.deployment, tables));
  const auto lengths = [](std::int64_t tokens) {
    return Lengths{.kind = Lengths::Kind::kFixed, .tokens = static_cast<double>(tokens)};
  };
  const Workload workload = ASSAY_TRY(make_workload(
      {.requests = load.requests_each * load.concurrency,
       .prompt = lengths(load.prompt_tokens),
       .output = lengths(load.output_tokens),
       .arrivals = {.kind = Arrivals::Kind::kClosedLoop, .concurrency = load.concurrency},
       .prefix_tokens = load.prefix_tokens}));
  const StagedCost staged(prices, pipeline);
  const StepCost& cost = worker.pp > 1 ? static_cast<const StepCost&>(staged) : prices;
  const ServingMetrics metrics =
      ASSAY_TRY(simulate(CalibratedCost(cost, planned.calibration), policy_of(planned.engine),
                         planned.limits, workload));
  planned.ttft_ms = planned.calibration.ttft_factor * metrics.ttft_ms.mean;
  planned.tpot_ms = planned.output_tokens > 1 ? metrics.tpot_ms.mean : 0;
  return {};
}

}  // namespace assay::plan
