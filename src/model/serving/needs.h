// What serving models needs of a performance database: the uses of operators of all their
// deployments, each once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/serving/model.h"
#include "model/serving/uses.h"

namespace assay::serving {

struct NeedsRequest {
  std::vector<Model> models = {};
  std::vector<std::int64_t> tp = {1, 2, 4, 8};
  // The groups of GPUs with experts of their own; empty: every division of the GPUs of `tp`.
  std::vector<std::int64_t> ep = {};
  // How weights are kept; std::nullopt means as each model's config.json tells.
  std::vector<std::optional<Quantization>> quantizations = {std::nullopt};
  std::vector<Phase> phases = {Phase::kContext, Phase::kGeneration};
  // Drafted of each request in a step by models that have layers for it; 0: nothing is. What is
  // needed without drafts is needed all the same.
  std::int64_t speculative_tokens = 0;
};

struct Need {
  OperatorUse use;  // its role and count are those of the first deployment that has it
  std::vector<std::string> models;  // the names of those that need it
};

// A deployment that engines cannot serve, and why.
struct Excluded {
  std::string model;
  std::string deployment;  // "tp 8, moe_tp 8, fp8_block"
  std::string reason;
};

struct Needs {
  std::vector<Need> needs;  // no two with the same operator and key
  std::vector<Excluded> excluded;
};

// With weights of 8 bits engines keep the cache in bfloat16 or in fp8, and in the latter case
// compute attention to prompts in either: all of these are needed. Experts are needed with tokens
// that are spread evenly, and as unevenly as the model's `skew` tells.
Needs needs_of(const NeedsRequest& request);

}  // namespace assay::serving
