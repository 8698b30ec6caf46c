// What the links between GPUs carry when kernels do nothing but send: the limit of the strategies.
#pragma once

#include <cstdio>
#include <vector>

#include "core/result.h"

namespace assay::allreduce {

// All GPUs send to all others at once. Prints a line for each size: what a GPU sends in a second,
// the slowest of them, the median of several times.
core::Status measure_links(const std::vector<int>& gpus, std::FILE* to);

}  // namespace assay::allreduce
