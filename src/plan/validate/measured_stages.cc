#include "plan/validate/measured_stages.h"

namespace assay::plan {

Worker worker_of(const MeasuredWidths& widths) {
  return {.tp = widths.tp,
          .dp = widths.dp,
          .moe_tp = widths.moe_tp,
          .moe_ep = widths.moe_ep,
          .pp = widths.pp};
}

core::Result<Pipeline> measured_pipeline(const serving::Model& model,
                                         const MeasuredWidths& widths,
                                         const Speculation& speculation,
                                         const store::SystemFacts& facts) {
  if (widths.pp > 1 && speculation.tokens > 0)
    return core::Error{"drafted tokens are not priced with stages"};
  return pipeline_of(model, worker_of(widths), facts.gpus_per_node,
                     [&](std::int64_t gpus) { return stage_link(facts, gpus); });
}

}  // namespace assay::plan
