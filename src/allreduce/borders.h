// From choices at measured sizes to a table for all sizes: where between two cells the better
// strategy changes.
#pragma once

#include <cstdint>
#include <vector>

#include "allreduce/decision.h"
#include "allreduce/strategy_table.h"

namespace assay::allreduce {

// The first size in bytes that takes the larger cell's strategy: above the smaller cell, at most
// the larger one. Where the two strategies' times cross, drawn as straight lines over logarithms
// between the cells; at the nearer end when they do not cross between them, and at the geometric
// mean of the bytes when one of the two was not timed in both cells.
std::int64_t border_bytes(const Choice& smaller, const Choice& larger);

// A row for every decided row with data; slices without any are left out.
std::vector<TableSlice> table_slices(const std::vector<DecidedSlice>& slices);

}  // namespace assay::allreduce
