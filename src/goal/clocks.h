#pragma once

#include <cstdint>
#include <vector>

#include "model/job.h"

namespace assay::goal {

// By clock: when the first of its GPUs began to be recorded or, where that is not known, to work.
std::vector<std::int64_t> clock_starts(const model::Job& job);

}  // namespace assay::goal
