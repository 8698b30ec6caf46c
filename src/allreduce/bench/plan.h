// Which cells a benchmark measures, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

constexpr int kMostGpus = 8;  // of an all-reduce: ASSAY_ALLREDUCE_MAX_RANKS

// The values of each axis; a cell for every combination.
struct Axes {
  std::vector<DataType> data_types;
  std::vector<Fusion> fusions;
  std::vector<std::int64_t> hidden_sizes;  // elements of a token
  std::vector<std::int64_t> num_tokens;
};

// kGrid: what tables are made of. kHeldOut: shapes between those, to judge tables by: no token
// count of it is on the grid.
enum class Shapes { kGrid, kHeldOut };

// bfloat16 and all fusions with the sizes of `shapes`.
Axes default_axes(Shapes shapes);

struct CellFilter {
  std::int64_t min_size_bytes = 0;
  std::int64_t max_size_bytes = std::numeric_limits<std::int64_t>::max();
  std::size_t most_cells = std::numeric_limits<std::size_t>::max();
};

// The cells of one TP size that pass the filter. Coarse grids come before finer ones, over all
// fusions, so that an interrupted benchmark has some of everything. Values that appear twice
// count once.
std::vector<Cell> plan_cells(int world_size, const Axes& axes, const CellFilter& filter);

// Errors: an axis without a value, a size below 1, a hidden size that is no multiple of 8, a
// message of more than 2^40 bytes.
core::Status check_axes(const Axes& axes);

// 2, 4 and 8 as far as there are GPUs. Error: fewer than 2 GPUs.
core::Result<std::vector<int>> default_world_sizes(int gpus);

}  // namespace assay::allreduce
