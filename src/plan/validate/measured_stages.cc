#include "plan/validate/measured_stages.h"

#include <fmt/core.h>

#include <utility>

namespace assay::plan {
namespace {

core::Result<Pipeline> measured_pipeline(const serving::Model& model,
                                         const MeasuredWidths& widths,
                                         const Speculation& speculation,
                                         const store::SystemFacts& facts) {
  if (widths.pp > 1 && speculation.tokens > 0)
    return core::Error{"drafted tokens are not priced with stages"};
  return pipeline_of(model, worker_of(widths), facts.gpus_per_node,
                     [&](std::int64_t gpus) { return stage_link(facts, gpus); });
}

// The files of a plan tell the type of the cache that they deploy.
core::Result<serving::Precision> served_as_measured(Engine engine,
                                                    const serving::Model& model,
                                                    const MeasuredDeployment& measured) {
  const serving::Precision precision = ASSAY_TRY(precision_of(model, measured));
  const serving::Precision served =
      model.leaves_attention_out() ? precision : served_precision(engine, precision);
  if (measured.cache.empty()) return served;
  const auto cache = serving::quantization_named(measured.cache);
  if (cache != serving::Quantization::kBfloat16 && cache != serving::Quantization::kFp8)
    return core::Error{fmt::format("'{}' is no type of a cache", measured.cache)};
  return with_cache(served, *cache);
}

Caches caches_of(const MeasuredDeployment& measured) {
  if (measured.is_disaggregated) return Caches::kSent;
  return measured.keeps_windows ? Caches::kStay : Caches::kUnset;
}

}  // namespace

Worker worker_of(const MeasuredWidths& widths) {
  return {.tp = widths.tp,
          .dp = widths.dp,
          .moe_tp = widths.moe_tp,
          .moe_ep = widths.moe_ep,
          .pp = widths.pp};
}

core::Result<BoundWorker> bind_worker(const MeasuredDeployment& measured,
                                      const std::string& system,
                                      const MeasuredWidths& widths,
                                      const ValidationInputs& inputs) {
  const std::optional<Engine> engine = engine_named(measured.engine);
  if (!engine) return core::Error{fmt::format("engine '{}' is not known", measured.engine)};
  const serving::Model& model = *ASSAY_TRY(inputs.model(measured.model));
  const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(system));
  Tables& tables = *ASSAY_TRY(inputs.tables(system, *engine, measured.version));
  ASSAY_TRY(check_speculation(model, measured.speculation));
  const serving::Precision precision = ASSAY_TRY(served_as_measured(*engine, model, measured));
  const ServedWorker worker{
      .engine = *engine,
      .deployment = {.tp = widths.tp,
                     .moe_tp = widths.moe_tp,
                     .moe_ep = widths.moe_ep,
                     .precision = precision,
                     .distribution = model.skew,
                     .speculative_tokens = measured.speculation.tokens,
                     .most_tokens = measured.prompt_tokens + measured.output_tokens,
                     .head_norm = head_norm_of(*engine, measured.version)},
      .groups = widths.dp,
      .memory = memory_of_gpu(facts, widths.gpus()),
      .pp = widths.pp,
      .speculation = measured.speculation,
      .kept = kept_cache(*engine, measured.version, caches_of(measured), model.family)};
  const Pipeline pipeline =
      ASSAY_TRY(measured_pipeline(model, widths, measured.speculation, facts));
  StepPrices prices = ASSAY_TRY(StepPrices::bind(model, worker.deployment, tables));
  return BoundWorker{
      .model = &model, .worker = worker, .prices = std::move(prices), .pipeline = pipeline};
}

}  // namespace assay::plan
