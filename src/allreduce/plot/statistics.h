// The figures in numbers, for standard output.
#pragma once

#include <optional>
#include <vector>

#include "allreduce/plot/source.h"
#include "model/table.h"
#include "model/warnings.h"

namespace assay::allreduce {

// One row a fusion of a file: its strategies, token counts, hidden sizes, times.
model::Table benchmarks_table(const std::vector<Source>& sources);

// One row a strategy of each: where it is the fastest and how far it is from that elsewhere.
model::Table strategies_table(const std::vector<Source>& sources);

// One row a cell in which two choices differ, the costliest first.
model::Table differences_table(const std::vector<Source>& sources,
                               const DrawnChoice& first,
                               const DrawnChoice& second);

// Grids with a single strategy: nothing can be slower than it.
void warn_of_single_strategies(const std::vector<Source>& sources, model::Warnings& warnings);

}  // namespace assay::allreduce
