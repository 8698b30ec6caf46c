// A measured worker and its stages.
#pragma once

#include <string>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/price/staged_cost.h"
#include "plan/price/step_prices.h"
#include "plan/search/deployments.h"
#include "plan/serve.h"
#include "plan/validate/measured.h"
#include "plan/validate/validate.h"

namespace assay::plan {

Worker worker_of(const MeasuredWidths& widths);

// A row's worker, with what it is priced by.
struct BoundWorker {
  const serving::Model* model = nullptr;
  ServedWorker worker;
  StepPrices prices;  // of the whole model; stages share them
  Pipeline pipeline = {};
};

// The widths are those of the row, or of one of its pools, on GPUs of this system. Error: as
// pipeline_of(), or steps that draft have no price in stages.
core::Result<BoundWorker> bind_worker(const MeasuredDeployment& measured,
                                      const std::string& system,
                                      const MeasuredWidths& widths,
                                      const ValidationInputs& inputs);

}  // namespace assay::plan
