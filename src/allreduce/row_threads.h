// How many threads work on a row of a fused kernel, and how many of them have something to do.
#pragma once

#include <cstdint>

#include "allreduce/strategy.h"

namespace assay::allreduce {

// Returns which part of the threads of a row have elements of it, in (0, 1]. A thread takes 16
// bytes, with TWOSHOT_PUSH in each rank's slice of the row. The threads of a row are a power of two
// up to 32 and whole warps above (row_division.h), so that 640 elements of 2 bytes fill
// 80 of 96 threads with ONESHOT, and 40 of 64 with TWOSHOT_PUSH on two GPUs. It is 1 where rows
// have no threads of their own: without fusion, and where a second kernel does the rows.
double busy_threads(
    Strategy strategy, Fusion fusion, int world_size, std::int64_t hidden_size, DataType data_type);

}  // namespace assay::allreduce
