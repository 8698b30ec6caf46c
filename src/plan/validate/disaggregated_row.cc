#include "plan/validate/disaggregated_row.h"

#include <algorithm>
#include <array>

#include "plan/cache_transfer.h"
#include "plan/price/staged_cost.h"
#include "plan/price/step_prices.h"
#include "plan/search/pool_prices.h"
#include "plan/serve_disaggregated.h"
#include "plan/validate/measured_stages.h"

namespace assay::plan {
namespace {

const std::string& system_of(const MeasuredDeployment& measured, const MeasuredPool& pool) {
  return pool.system.empty() ? measured.system : pool.system;
}

// Rows do not tell where the workers were. Those of one system and node are taken to be in one.
CachePath path_of_row(const MeasuredDeployment& measured,
                      const store::SystemFacts& prefill,
                      const store::SystemFacts& decode) {
  if (&prefill != &decode) return CachePath::kBetweenNodes;
  return measured.gpus() <= decode.gpus_per_node ? CachePath::kWithinNode
                                                 : CachePath::kBetweenNodes;
}

LoadParts parts_of_row(const StepPrices& prefill,
                       const StepPrices& decode,
                       const ServedPools& pools,
                       const ClosedLoop& load) {
  const std::array<Chunks, 1> chunks = {
      Chunks{.requests = pools.prefill_batch, .new_tokens = load.prompt_tokens}};
  const std::int64_t groups = pools.decode.instances * pools.decode.worker.batches();
  return parts_of_pools(prefill, {.chunks = chunks, .finished_prompts = pools.prefill_batch},
                        decode,
                        {.decodes = std::max<std::int64_t>(1, load.concurrency / groups),
                         .decode_cached = static_cast<double>(load.prompt_tokens) +
                                          0.5 * static_cast<double>(load.output_tokens)});
}

// By a mean step, without waiting: of the requests that have room.
core::Status fill_closed_form(const serving::Model& model,
                              const ServedPools& pools,
                              const StepCost& prompts,
                              const StepCost& tokens,
                              const ClosedLoop& load,
                              Prediction& prediction) {
  const Limits of_prefill =
      ASSAY_TRY(prefill_limits(model, pools.prefill.worker, pools.prefill_batch, load));
  const Limits of_decode = ASSAY_TRY(limits_of(model, pools.decode.worker, load));
  const std::int64_t room = of_decode.kv_tokens / (load.prompt_tokens + load.output_tokens);
  const std::int64_t groups = pools.decode.instances * pools.decode.worker.batches();
  const std::int64_t batch =
      std::clamp<std::int64_t>(load.concurrency / groups, 1, std::max<std::int64_t>(1, room));
  prediction.ttft_ms =
      prompts_ms(prompts, pools.prefill_batch, load.prompt_tokens, 0, of_prefill.max_tokens) +
      transfer_ms(pools.transfer, load.prompt_tokens) + load.client_ms;
  const std::int64_t further = std::max<std::int64_t>(1, load.output_tokens - 1);
  const double steps = expected_steps(pools.decode.worker.speculation, further);
  prediction.tpot_ms = steps / static_cast<double>(further) *
                       tokens.ms({.decodes = batch,
                                  .decode_cached = static_cast<double>(load.prompt_tokens) +
                                                   0.5 * static_cast<double>(load.output_tokens)});
  return {};
}

}  // namespace

core::Status predict_disaggregated(const MeasuredDeployment& measured,
                                   const ValidationInputs& inputs,
                                   const AssumedClients& clients,
                                   Prediction& prediction) {
  const serving::Model& model = *ASSAY_TRY(inputs.model(measured.model));
  const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(system_of(measured, measured.prefill)));
  const store::SystemFacts& decode_facts =
      *ASSAY_TRY(inputs.facts(system_of(measured, measured.decode)));
  const auto bind_pool = [&](const MeasuredPool& pool) {
    return bind_worker(measured, system_of(measured, pool), pool.widths, inputs);
  };
  const BoundWorker prefill = ASSAY_TRY(bind_pool(measured.prefill));
  const BoundWorker decode = ASSAY_TRY(bind_pool(measured.decode));
  const CacheTransfer transfer = ASSAY_TRY(cache_transfer(
      sent_bytes_per_token(model, decode.worker, measured.prompt_tokens),
      {measured.prefill.widths.gpus(), &facts}, {measured.decode.widths.gpus(), &decode_facts},
      path_of_row(measured, facts, decode_facts)));
  const ServedPools pools{.prefill = {prefill.worker, measured.prefill.workers},
                          .prefill_batch = std::max<std::int64_t>(1, measured.prefill.batch),
                          .decode = {decode.worker, measured.decode.workers},
                          .transfer = transfer};
  const ClosedLoop load{
      .concurrency = measured.concurrency,
      .prompt_tokens = measured.prompt_tokens,
      .output_tokens = measured.output_tokens,
      .least_length = clients.least_length > 0 ? clients.least_length : measured.least_length,
      .requests_each = clients.requests_each,
      .client_ms = clients.client_ms};
  prediction.parts = parts_of_row(prefill.prices, decode.prices, pools, load);
  const StagedCost staged_prompts(prefill.prices, prefill.pipeline);
  const StagedCost staged_tokens(decode.prices, decode.pipeline);
  const CalibratedCost prompts(staged_prompts, prediction.calibration);
  const CalibratedCost tokens(staged_tokens, prediction.calibration);
  if (clients.scheduler == Scheduler::kClosedForm) {
    ASSAY_TRY(fill_closed_form(model, pools, prompts, tokens, load, prediction));
  } else {
    const DisaggregatedMetrics metrics =
        ASSAY_TRY(serve_disaggregated(model, pools, prompts, tokens, load));
    prediction.ttft_ms = metrics.serving.ttft_ms.mean;
    prediction.tpot_ms = metrics.serving.tpot_ms.mean;
  }
  prediction.ttft_ms *= prediction.calibration.ttft_factor;
  return {};
}

}  // namespace assay::plan
