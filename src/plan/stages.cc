#include "plan/stages.h"

namespace assay::plan {

std::vector<std::int64_t> layers_of_stages(Engine engine,
                                           std::int64_t layers,
                                           std::int64_t stages) {
  std::vector<std::int64_t> of_stages(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t further = 0; further < layers % stages; ++further) {
    std::int64_t stage = 0;
    switch (engine) {
      case Engine::kTrtllm:  // the first ones have one more: Mapping.pp_layers()
        stage = further;
        break;
      case Engine::kVllm:  // the last but the very last: get_pp_indices()
        stage = stages - 2 - further;
        break;
      case Engine::kSglang:  // the last ones: its own get_pp_indices()
        stage = stages - 1 - further;
        break;
    }
    ++of_stages[static_cast<std::size_t>(stage)];
  }
  return of_stages;
}

}  // namespace assay::plan
