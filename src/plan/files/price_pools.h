// Prices a disaggregated deployment with the limits that its files will have.
#pragma once

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/files/deployment.h"
#include "plan/search/disaggregated.h"

namespace assay::plan {

// Fills what follows from the engine, the workers and the load: the limits of both pools, the
// requests in flight, and the latencies, simulated with these very limits and the transfer of
// caches. `system` is that of the instances that compute prompts, with its calibration.
// Precondition: the load of each pool's instance is set. Error: as price_planned(), or the engine
// sends no caches between these pools.
core::Status price_pools(const serving::Model& model,
                         const PoolSystem& system,
                         const PoolSystem& decode_system,
                         PlannedDeployment& planned);

}  // namespace assay::plan
