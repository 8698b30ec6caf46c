// Prices a deployment with the limits that its files will have.
#pragma once

#include <string>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/files/deployment.h"
#include "plan/memory.h"
#include "plan/price/staged_cost.h"
#include "plan/price/tables.h"
#include "plan/serve.h"

namespace assay::plan {

// Fills in what layers with windows have of the cache, where they have memory of their own.
void fill_windows(const serving::Model& model,
                  const ServedWorker& served,
                  const ClosedLoop& load,
                  PlannedDeployment& planned);

// Fills what follows from the engine, the worker and the load: limits, share of memory, type of the
// cache, and the latencies of one copy under that load, simulated with these very limits. The
// pipeline has as many stages as the worker. Error: the engine cannot run the worker, the load does
// not fit it, or an operator has no price.
core::Status price_planned(const serving::Model& model,
                           const GpuMemory& memory,
                           const Pipeline& pipeline,
                           Tables& tables,
                           PlannedDeployment& planned);

// Error: the model takes no sequences of the load's prompts and answers. Fills the context.
core::Status check_context(const serving::Model& model, PlannedDeployment& planned);

// Error: a step's tokens are fewer than its requests, of which each decodes one, which engines
// refuse.
core::Status check_step_tokens(const PlannedDeployment& planned);

// Says that the cache does not hold the requests that are deployed to run at once; "" where it
// does. fill_held() was called.
std::string room_in_words(const PlannedDeployment& planned);

// Fills in how many requests the cache holds.
void fill_held(const serving::Model& model,
               const ServedWorker& served,
               const ClosedLoop& load,
               PlannedDeployment& planned);

// The share of memory, the type of the cache and the bytes of the weights.
void fill_memory(const serving::Model& model,
                 const ServedWorker& served,
                 PlannedDeployment& planned);

}  // namespace assay::plan
