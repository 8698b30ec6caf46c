// Tells which engines send the states of linear attention and of state spaces from instances that
// compute prompts to such that decode, beside their caches of keys and values.
#pragma once

#include <string>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/engine.h"
#include "plan/search/deployments.h"

namespace assay::plan {

// Returns whether layers of the model keep a state of each request, which does not grow.
bool keeps_states(const serving::Model& model);

// Error: the engine's version ("": the one that files are for) does not send the model's states, or
// not between these widths.
core::Status check_sent_states(const serving::Model& model,
                               Engine engine,
                               const std::string& version,
                               const Worker& prefill,
                               const Worker& decode);

}  // namespace assay::plan
