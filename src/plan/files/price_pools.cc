#include "plan/files/price_pools.h"

#include <fmt/core.h>

#include "plan/cache_transfer.h"
#include "plan/files/engine_files.h"
#include "plan/files/price_planned.h"
#include "plan/schedule/policy.h"
#include "plan/search/pool_prices.h"
#include "plan/search/sent_states.h"
#include "plan/serve_disaggregated.h"

namespace assay::plan {
namespace {

struct PricedPoolInstance {
  ServedWorker served;
  const StepCost* cost = nullptr;
};

core::Result<PricedPoolInstance> bind_instance(const serving::Model& model,
                                               const PoolSystem& system,
                                               BoundPrices& bound,
                                               PlannedDeployment& pool) {
  const serving::Precision precision = served_precision(pool.engine, model, pool.cache_type);
  pool.has_experts = model.has_experts();
  pool.sends_states = keeps_states(model);
  ASSAY_TRY(check_worker(model, pool.engine, precision, pool.worker));
  PricedPoolInstance made{.served = served_instance(model, pool.engine, precision, pool.worker,
                                                    system, pool.speculation)};
  made.served.deployment.most_tokens = pool.prompt_tokens + pool.output_tokens;
  made.served.deployment.head_norm = head_norm_of(pool.engine, pool.engine_version);
  made.served.kept = kept_cache(pool.engine, pool.engine_version, Caches::kSent, model.family);
  fill_memory(model, made.served, pool);
  made.cost = ASSAY_TRY(bound.of(model, made.served.deployment, pool.worker, system)).cost;
  return made;
}

core::Status check_room(const PlannedDeployment& decode) {
  const std::int64_t tokens = decode.prompt_tokens + decode.output_tokens;
  const std::int64_t batch = decode.concurrency / decode.batches();
  if (batch * tokens <= decode.limits.kv_tokens) return {};
  return core::Error{fmt::format(
      "--batch {}: an instance that decodes has room for {} requests of {} tokens a group", batch,
      decode.limits.kv_tokens / tokens, tokens)};
}

}  // namespace

core::Status price_pools(const serving::Model& model,
                         const PoolSystem& system,
                         const PoolSystem& decode_system,
                         PlannedDeployment& planned) {
  PlannedDeployment& prefill = planned.pools.front();
  PlannedDeployment& decode = planned.pools.back();
  ASSAY_TRY(check_pools(planned.engine, prefill.worker, decode.worker));
  ASSAY_TRY(check_sent_states(model, planned.engine, planned.engine_version, prefill.worker,
                              decode.worker));
  ASSAY_TRY(check_speculation(model, planned.speculation));
  ASSAY_TRY(check_context(model, planned));
  prefill.context = decode.context = planned.context;
  BoundPrices bound;
  const auto of_prefill = ASSAY_TRY(bind_instance(model, system, bound, prefill));
  const auto of_decode = ASSAY_TRY(bind_instance(model, decode_system, bound, decode));
  planned.has_experts = model.has_experts();
  planned.weight_bytes = decode.weight_bytes;
  planned.concurrency = decode.copies * decode.concurrency;
  ClosedLoop load{.concurrency = decode.concurrency,
                  .prompt_tokens = planned.prompt_tokens,
                  .output_tokens = planned.output_tokens};
  const std::int64_t prompts = prefill.concurrency / prefill.batches();
  prefill.limits = deployed_limits(
      ASSAY_TRY(prefill_limits(model, of_prefill.served, prompts, load)), planned.engine, prompts);
  decode.limits = deployed_limits(ASSAY_TRY(limits_of(model, of_decode.served, load)),
                                  planned.engine, decode.concurrency / decode.batches());
  ASSAY_TRY(check_room(decode));
  ASSAY_TRY(check_step_tokens(decode));

  const CacheTransfer transfer = ASSAY_TRY(cache_transfer(
      sent_bytes_per_token(model, of_decode.served, planned.prompt_tokens),
      {prefill.worker.gpus(), system.facts}, {decode.worker.gpus(), decode_system.facts},
      path_of_copies(system, decode_system, planned.gpus(), 1, planned.gpus())));
  load.concurrency = planned.concurrency;
  const Workload workload = ASSAY_TRY(workload_of(load, load.requests_each * load.concurrency));
  const DisaggregatedMetrics metrics = ASSAY_TRY(simulate_disaggregated(
      policy_of(planned.engine), {of_prefill.cost, prefill.limits, prefill.copies},
      {of_decode.cost, decode.limits, decode.copies}, transfer, workload));
  planned.ttft_ms = planned.calibration.ttft_factor * metrics.serving.ttft_ms.mean;
  planned.tpot_ms = planned.output_tokens > 1 ? metrics.serving.tpot_ms.mean : 0;
  return {};
}

}  // namespace assay::plan
