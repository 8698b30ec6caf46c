#include "plan/files/price_planned.h"

#include <fmt/core.h>

#include <algorithm>

#include "plan/price/step_prices.h"
#include "plan/schedule/policy.h"
#include "plan/schedule/simulate.h"
#include "plan/schedule/workload.h"
#include "plan/serve.h"

namespace assay::plan {
namespace {

core::Status check_worker(const serving::Model& model,
                          const serving::Precision& precision,
                          const PlannedDeployment& planned) {
  const Worker& worker = planned.worker;
  if (!planned.has_experts && worker.dp > 1)
    return core::Error{
        fmt::format("{} has no experts for groups to share: --copies serves it {} times",
                    model.name, worker.dp)};
  const Workers all = workers_of(model, planned.engine, precision, worker.gpus());
  if (std::find(all.possible.begin(), all.possible.end(), worker) != all.possible.end()) return {};
  for (const ExcludedWorker& excluded : all.excluded) {
    if (excluded.worker == worker)
      return core::Error{fmt::format("{}: {}", worker.text(), excluded.reason)};
  }
  return core::Error{
      fmt::format("tp {} x dp {} is not moe_tp {} x moe_ep {}, or not a power of two: no worker "
                  "shares a model so",
                  worker.tp, worker.dp, worker.moe_tp, worker.moe_ep)};
}

core::Status check_load(const PlannedDeployment& planned) {
  if (planned.concurrency % planned.worker.dp == 0) return {};
  return core::Error{fmt::format("{} requests in flight do not divide among {} groups",
                                 planned.concurrency, planned.worker.dp)};
}

}  // namespace

core::Status price_planned(const serving::Model& model,
                           const GpuMemory& memory,
                           Tables& tables,
                           PlannedDeployment& planned) {
  const serving::Precision precision = served_precision(planned.engine, model.precision);
  planned.has_experts = model.has_experts();
  ASSAY_TRY(check_worker(model, precision, planned));
  ASSAY_TRY(check_load(planned));
  const Worker& worker = planned.worker;
  const ServedWorker served{.engine = planned.engine,
                            .deployment = deployment_of(model, worker, precision),
                            .groups = worker.dp,
                            .memory = memory};
  // A calibration's factor on TTFT stands for the clients' time, too.
  const bool is_calibrated = planned.calibration != Calibration();
  const ClosedLoop load{.concurrency = planned.concurrency,
                        .prompt_tokens = planned.prompt_tokens,
                        .output_tokens = planned.output_tokens,
                        .client_ms = is_calibrated ? 0 : kBenchmarkClientMs};
  const Limits priced = ASSAY_TRY(limits_of(model, served, load));
  planned.limits = deployed_limits(priced, planned.engine, planned.concurrency / worker.dp);
  planned.memory_share = default_fraction(planned.engine);
  planned.cache = precision.cache;
  const MemoryUse use =
      memory_of(model, {.deployment = served.deployment, .engine = planned.engine}, memory);
  planned.weight_bytes = use.weight_bytes * static_cast<double>(worker.gpus());

  const auto prices = ASSAY_TRY(StepPrices::bind(model, served.deployment, tables));
  const auto lengths = [](std::int64_t tokens) {
    return Lengths{.kind = Lengths::Kind::kFixed, .tokens = static_cast<double>(tokens)};
  };
  const Workload workload = ASSAY_TRY(make_workload(
      {.requests = load.requests_each * load.concurrency,
       .prompt = lengths(load.prompt_tokens),
       .output = lengths(load.output_tokens),
       .arrivals = {.kind = Arrivals::Kind::kClosedLoop, .concurrency = load.concurrency}}));
  const ServingMetrics metrics =
      ASSAY_TRY(simulate(CalibratedCost(prices, planned.calibration), policy_of(planned.engine),
                         planned.limits, workload));
  planned.ttft_ms = planned.calibration.ttft_factor * metrics.ttft_ms.mean;
  planned.tpot_ms = planned.output_tokens > 1 ? metrics.tpot_ms.mean : 0;
  return {};
}

}  // namespace assay::plan
