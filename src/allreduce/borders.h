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
// between the cells; at the nearer end when they do not cross between them. When the smaller cell's
// strategy was not timed in the larger one: behind `largest_bytes`, the largest message that it was
// timed with anywhere in the slice, since a strategy that cannot do a cell most often lacks room.
// When the larger cell's was not timed in the smaller one: at the geometric mean of the bytes.
std::int64_t border_bytes(const Choice& smaller, const Choice& larger, std::int64_t largest_bytes);

// A row for every decided row with data; slices without any are left out.
std::vector<TableSlice> table_slices(const std::vector<DecidedSlice>& slices);

}  // namespace assay::allreduce
