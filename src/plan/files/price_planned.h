// Prices a deployment with the limits that its files will have.
#pragma once

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/files/deployment.h"
#include "plan/memory.h"
#include "plan/price/tables.h"

namespace assay::plan {

// Fills what follows from the engine, the worker and the load: limits, share of memory, type of the
// cache, and the latencies of one copy under that load, simulated with these very limits. Error:
// the engine cannot run the worker, the load does not fit it, or an operator has no price.
core::Status price_planned(const serving::Model& model,
                           const GpuMemory& memory,
                           Tables& tables,
                           PlannedDeployment& planned);

}  // namespace assay::plan
