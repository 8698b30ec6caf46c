#include "plan/serve_disaggregated.h"

#include <algorithm>

#include "plan/schedule/policy.h"

namespace assay::plan {
namespace {

struct PoolLimits {
  Limits prefill = {};
  Limits decode = {};
};

core::Result<PoolLimits> limits_of_pools(const serving::Model& model,
                                         const ServedPools& pools,
                                         const ClosedLoop& load) {
  ClosedLoop of_instance = load;
  of_instance.concurrency =
      std::max(pools.decode.worker.batches(),
               load.concurrency / std::max<std::int64_t>(1, pools.decode.instances));
  of_instance.prefix_tokens = 0;  // a cache that comes shares nothing
  PoolLimits limits;
  limits.prefill =
      ASSAY_TRY(prefill_limits(model, pools.prefill.worker, pools.prefill_batch, load));
  limits.decode = ASSAY_TRY(limits_of(model, pools.decode.worker, of_instance));
  // A request that is thrown out finds what it left.
  limits.decode.prefix_cache = limits.prefill.prefix_cache;
  return limits;
}

// A share of a round, but no fewer than some dozens, which a mean needs, and no more than some
// hundred, unless more prompts are computed at once: before they end there is no first token. Short
// answers end in waves, as their prompts were computed together; then it is whole rounds, which
// hold several waves.
LongRun usual_run(const ServedPools& pools, const ClosedLoop& load, double waiting) {
  constexpr std::int64_t kLeastSettling = 8;
  constexpr std::int64_t kLeastMeasured = 48;
  constexpr std::int64_t kMost = 256;
  constexpr std::int64_t kShortAnswer = 256;  // tokens
  constexpr std::int64_t kWaves = 4;
  LongRun run{.settling = std::clamp(load.concurrency / 3, kLeastSettling, kMost),
              .measured = std::clamp(load.concurrency / 2, kLeastMeasured, kMost),
              .waiting = waiting};
  const std::int64_t wave =
      pools.prefill.instances * pools.prefill.worker.batches() * pools.prefill_batch;
  if (wave > kMost) {
    run.settling = std::max(run.settling, wave);
    run.measured = std::max(run.measured, wave);
  }
  if (load.output_tokens > kShortAnswer) return run;
  run.settling = std::max(run.settling, load.concurrency);
  run.measured = std::max({run.measured, 2 * load.concurrency, kWaves * wave});
  return run;
}

}  // namespace

core::Result<Limits> prefill_limits(const serving::Model& model,
                                    const ServedWorker& worker,
                                    std::int64_t batch,
                                    const ClosedLoop& load) {
  ServedWorker prefill = worker;
  if (prefill.max_tokens == 0 && prefill.engine == Engine::kTrtllm)
    prefill.max_tokens = one_prompt_beside(0, batch * load.prompt_tokens);
  ClosedLoop prompts = load;
  prompts.concurrency = batch * worker.batches();
  prompts.output_tokens = 1;
  Limits limits = ASSAY_TRY(limits_of(model, prefill, prompts));
  limits.max_batch = batch;
  limits.graph_multiple = 1;  // nothing is captured where nothing decodes
  if (worker.engine == Engine::kTrtllm) limits.overlap = Limits::Overlap::kNone;
  return limits;
}

namespace {

struct UsedPools {
  Pool prefill;
  Pool decode;
};

core::Result<UsedPools> used_pools(const serving::Model& model,
                                   const ServedPools& pools,
                                   const StepCost& prefill_cost,
                                   const StepCost& decode_cost,
                                   const ClosedLoop& load) {
  const PoolLimits limits = ASSAY_TRY(limits_of_pools(model, pools, load));
  return UsedPools{.prefill = {&prefill_cost, limits.prefill, pools.prefill.instances},
                   .decode = {&decode_cost, limits.decode, pools.decode.instances}};
}

}  // namespace

core::Result<DisaggregatedMetrics> serve_disaggregated(const serving::Model& model,
                                                       const ServedPools& pools,
                                                       const StepCost& prefill_cost,
                                                       const StepCost& decode_cost,
                                                       const ClosedLoop& load) {
  const UsedPools used = ASSAY_TRY(used_pools(model, pools, prefill_cost, decode_cost, load));
  const Workload workload = ASSAY_TRY(workload_of(load, load.requests_each * load.concurrency));
  return simulate_disaggregated(policy_of(pools.decode.worker.engine), used.prefill, used.decode,
                                pools.transfer, workload);
}

core::Result<double> serve_disaggregated_ttft_ms(const serving::Model& model,
                                                 const ServedPools& pools,
                                                 const StepCost& prefill_cost,
                                                 const StepCost& decode_cost,
                                                 const ClosedLoop& load) {
  const UsedPools used = ASSAY_TRY(used_pools(model, pools, prefill_cost, decode_cost, load));
  const Workload workload = ASSAY_TRY(workload_of(load, load.requests_each * load.concurrency));
  return simulate_disaggregated_ttft_ms(policy_of(pools.decode.worker.engine), used.prefill,
                                        used.decode, pools.transfer, workload);
}

core::Result<LongRunMetrics> serve_disaggregated_steadily(const serving::Model& model,
                                                          const ServedPools& pools,
                                                          const StepCost& prefill_cost,
                                                          const StepCost& decode_cost,
                                                          const ClosedLoop& load,
                                                          double waiting) {
  const UsedPools used = ASSAY_TRY(used_pools(model, pools, prefill_cost, decode_cost, load));
  const LongRun run = usual_run(pools, load, waiting);
  const Workload workload =
      ASSAY_TRY(workload_of(load, load.concurrency + run.settling + run.measured));
  return simulate_long_run(policy_of(pools.decode.worker.engine), used.prefill, used.decode,
                           pools.transfer, workload, run);
}

}  // namespace assay::plan
