// A measured worker and its stages.
#pragma once

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/price/staged_cost.h"
#include "plan/search/deployments.h"
#include "plan/validate/measured.h"
#include "store/systems/system_facts.h"

namespace assay::plan {

Worker worker_of(const MeasuredWidths& widths);

// How they follow each other, one behind the other on nodes. Error: as pipeline_of(), or steps that
// draft have no price in stages.
core::Result<Pipeline> measured_pipeline(const serving::Model& model,
                                         const MeasuredWidths& widths,
                                         const Speculation& speculation,
                                         const store::SystemFacts& facts);

}  // namespace assay::plan
