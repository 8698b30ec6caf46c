// The cells that a benchmark measures, and their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

constexpr int kMostGpus = 8;  // in one all-reduce; same as ASSAY_ALLREDUCE_MAX_RANKS

// The values of each axis. Every combination of them is a cell.
struct Axes {
  std::vector<DataType> data_types;
  std::vector<Fusion> fusions;
  std::vector<std::int64_t> hidden_sizes;  // elements per token
  std::vector<std::int64_t> num_tokens;
};

// kGrid has the shapes that tables are made from. kHeldOut has shapes between those, to judge
// tables by: none of its token counts is on the grid.
enum class Shapes { kGrid, kHeldOut };

// Returns bfloat16, all fusions and the sizes of `shapes`.
Axes default_axes(Shapes shapes);

struct CellFilter {
  std::int64_t min_size_bytes = 0;
  std::int64_t max_size_bytes = std::numeric_limits<std::int64_t>::max();
  std::size_t most_cells = std::numeric_limits<std::size_t>::max();
};

// Returns the cells of one TP size that pass the filter. Within a data type, coarse grids over all
// fusions come before finer ones, so that an interrupted benchmark has some of everything.
// Duplicate values of an axis count once.
std::vector<Cell> plan_cells(int world_size, const Axes& axes, const CellFilter& filter);

// Errors: an axis without a value, a size below 1, a hidden size that is not a multiple of 8, a
// message of more than 2^40 bytes as float32.
core::Status check_axes(const Axes& axes);

// Returns those of 2, 4 and 8 that do not exceed `gpus`. Error: fewer than 2 GPUs.
core::Result<std::vector<int>> default_world_sizes(int gpus);

}  // namespace assay::allreduce
