// The layers of a model in the stages of a pipeline.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/engine.h"

namespace assay::plan {

// The layers of each stage, as the engine divides them unless it is told otherwise.
std::vector<std::int64_t> layers_of_stages(Engine engine, std::int64_t layers, std::int64_t stages);

// Returns what stages cost in the time of the longest one, where layers do not divide evenly: the
// layers of all stages, if each had as many as that one, over the layers that there are.
inline double stage_excess(std::int64_t layers, std::int64_t stages) {
  const std::int64_t longest = (layers + stages - 1) / stages;
  return static_cast<double>(longest * stages) / static_cast<double>(layers);
}

}  // namespace assay::plan
