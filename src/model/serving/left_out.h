// Finds what a checkpoint leaves in bfloat16 of a model's layers: quantization_config names modules
// ("model.layers.0.mlp.gate"), or has patterns of their names ("re:.*self_attn.*", "*.self_attn*").
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/config.h"
#include "model/serving/model.h"

namespace assay::serving {

// The names and patterns of a quantization_config, or of ModelOpt's file; empty where it has none.
// Error: a field that is no list of words.
core::Result<std::vector<std::string>> read_left_out(const Config& config);

// Sets Layer::left_out, where equal layers that are not left out alike become several. A model of
// which all projections or all experts are left out has the precision of bfloat16 for them. Only
// modules with a matrix count: norms have no other precision. Error: a regular expression that does
// not read, or takes too long to match.
core::Status leave_out(const std::vector<std::string>& modules, Model& model);

}  // namespace assay::serving
