// What vLLM and TensorRT-LLM with MAX_UTILIZATION share: running requests go first, and where one
// lacks a block, the newest is thrown out.
#pragma once

#include <cstdint>

#include "plan/schedule/group.h"

namespace assay::plan {

// Gives the running requests, oldest first, one token or the next chunk of their prompt, out of
// `budget` tokens; returns what is left of it.
std::int64_t schedule_running(Group& group, std::int64_t budget);

}  // namespace assay::plan
