#include "plan/files/price_pools.h"

#include <fmt/core.h>

#include <utility>

#include "plan/cache_transfer.h"
#include "plan/files/engine_files.h"
#include "plan/files/price_planned.h"
#include "plan/price/step_prices.h"
#include "plan/schedule/policy.h"
#include "plan/serve_disaggregated.h"

namespace assay::plan {
namespace {

struct PricedPoolInstance {
  ServedWorker served;
  StepPrices prices;
};

core::Result<PricedPoolInstance> bind_instance(const serving::Model& model,
                                               const PoolSystem& system,
                                               PlannedDeployment& pool) {
  const serving::Precision precision = served_precision(pool.engine, model.precision);
  pool.has_experts = model.has_experts();
  ASSAY_TRY(check_planned_worker(model, precision, pool));
  ServedWorker served{
      .engine = pool.engine,
      .deployment = deployment_of(model, pool.worker, precision),
      .groups = pool.worker.dp,
      .memory = {.capacity_bytes = system.facts->memory_bytes,
                 .communication_bytes = system.facts->nccl_bytes_of(pool.worker.gpus())}};
  fill_memory(model, served, pool);
  StepPrices prices = ASSAY_TRY(StepPrices::bind(model, served.deployment, *system.tables));
  return PricedPoolInstance{std::move(served), std::move(prices)};
}

core::Status check_room(const PlannedDeployment& decode) {
  const std::int64_t tokens = decode.prompt_tokens + decode.output_tokens;
  const std::int64_t batch = decode.concurrency / decode.worker.dp;
  if (batch * tokens <= decode.limits.kv_tokens) return {};
  return core::Error{fmt::format(
      "--batch {}: an instance that decodes has room for {} requests of {} tokens a group", batch,
      decode.limits.kv_tokens / tokens, tokens)};
}

}  // namespace

core::Status price_pools(const serving::Model& model,
                         const PoolSystem& system,
                         PlannedDeployment& planned) {
  ASSAY_TRY(files_of(planned.engine).check_pools(planned));
  PlannedDeployment& prefill = planned.pools.front();
  PlannedDeployment& decode = planned.pools.back();
  const auto of_prefill = ASSAY_TRY(bind_instance(model, system, prefill));
  const auto of_decode = ASSAY_TRY(bind_instance(model, system, decode));
  planned.has_experts = model.has_experts();
  planned.weight_bytes = decode.weight_bytes;
  planned.concurrency = decode.copies * decode.concurrency;
  ClosedLoop load{.concurrency = decode.concurrency,
                  .prompt_tokens = planned.prompt_tokens,
                  .output_tokens = planned.output_tokens};
  const std::int64_t prompts = prefill.concurrency / prefill.worker.dp;
  prefill.limits = deployed_limits(
      ASSAY_TRY(prefill_limits(model, of_prefill.served, prompts, load)), planned.engine, prompts);
  decode.limits = deployed_limits(ASSAY_TRY(limits_of(model, of_decode.served, load)),
                                  planned.engine, decode.concurrency / decode.worker.dp);
  ASSAY_TRY(check_room(decode));

  const bool is_within = planned.gpus() <= system.facts->gpus_per_node;
  const CacheTransfer transfer = ASSAY_TRY(
      cache_transfer(sent_bytes_per_token(model, of_decode.served, planned.prompt_tokens),
                     {prefill.worker.gpus(), system.facts}, {decode.worker.gpus(), system.facts},
                     is_within ? CachePath::kWithinNode : CachePath::kBetweenNodes));
  load.concurrency = planned.concurrency;
  const Workload workload = ASSAY_TRY(workload_of(load, load.requests_each * load.concurrency));
  const CalibratedCost prompt_cost(of_prefill.prices, planned.calibration);
  const CalibratedCost decode_cost(of_decode.prices, planned.calibration);
  const DisaggregatedMetrics metrics = ASSAY_TRY(simulate_disaggregated(
      policy_of(planned.engine), {&prompt_cost, prefill.limits, prefill.copies},
      {&decode_cost, decode.limits, decode.copies}, transfer, workload));
  planned.ttft_ms = planned.calibration.ttft_factor * metrics.serving.ttft_ms.mean;
  planned.tpot_ms = planned.output_tokens > 1 ? metrics.serving.tpot_ms.mean : 0;
  return {};
}

}  // namespace assay::plan
