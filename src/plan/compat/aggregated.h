// Workers that compute prompts and decode, in the public planner's closed form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/compat/engine_rules.h"
#include "plan/compat/operators.h"
#include "plan/compat/steps.h"

namespace assay::plan::compat {

// What stays the same for all workers of a search.
struct Setting {
  Engine engine = Engine::kTrtllm;
  std::string version = {};  // of the engine
  Lengths lengths = {};
};

// One worker under one load.
struct AggregatedPoint {
  Worker worker = {};
  std::int64_t batch = 1;          // of a group
  std::int64_t prompt_tokens = 0;  // of a mixed step
  double ttft_ms = 0;
  double tpot_ms = 0;
  double requests_per_s = 0;
  double tokens_per_s = 0;
  MemoryParts memory = {};

  [[nodiscard]] double tokens_per_s_per_gpu() const {
    return tokens_per_s / static_cast<double>(worker.gpus());
  }

  [[nodiscard]] double request_ms(const Lengths& lengths) const {
    return ttft_ms + tpot_ms * static_cast<double>(lengths.output - 1);
  }
};

struct MixedLoad {
  std::int64_t batch = 1;          // of a group
  std::int64_t prompt_tokens = 0;  // of a mixed step
};

AggregatedPoint aggregated_point(const serving::Model& model,
                                 const Worker& worker,
                                 const Operators& operators,
                                 const SystemFacts& facts,
                                 const Setting& setting,
                                 const MixedLoad& load);

// All batches and tokens of a step that the public planner looks at and that fit.
std::vector<AggregatedPoint> aggregated_points(const serving::Model& model,
                                               const Worker& worker,
                                               const Operators& operators,
                                               const SystemFacts& facts,
                                               const Setting& setting);

// Tokens of prompts in a step that it looks at, with whole prompts.
std::vector<std::int64_t> step_tokens(std::int64_t prompt);

}  // namespace assay::plan::compat
