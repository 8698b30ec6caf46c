// Tells how much each step of a rank does, whatever time that takes: comparisons tell by it whether
// two sides did the same work.
#pragma once

#include "model/table.h"
#include "trace/analysis.h"

namespace assay::trace {

inline constexpr const char* kWorkSheet = "work";
inline constexpr const char* kKernelsColumn = "kernels";
inline constexpr const char* kElementsColumn = "input elements of a kernel";
inline constexpr const char* kCollectivesColumn = "collectives";
inline constexpr const char* kMessageBytesColumn = "message bytes";

// Returns a row for each step of the rank, or one for the whole trace where it names none. Kernels
// are those that compute. Their input elements are those of the operators that launch them, cells
// without a value where shapes or launches were not recorded.
model::Table work_table(const RankAnalysis& rank);

}  // namespace assay::trace
