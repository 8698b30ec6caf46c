// The comparison as the public tool makes it (requirement version of aorta): its sheets, columns
// and figures, its defects included.
#pragma once

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Means over ranks of the whole traces, all types in alphabetical order; "Better" and "Worse" from
// 1 % on.
model::Book tracelens_timeline_comparison(const Sides& sides);

// The first row of each (Collective name, dtype, In msg nelems), keys that one side lacks dropped,
// no metric at all in nccl_long_cmp.
model::Book tracelens_collective_comparison(const Sides& sides);

// From Summary_Comparison; without rows when that is null. Figures are rounded to 2 digits,
// "Better" above 0, "Worse" from -1 %.
model::Table tracelens_dashboard(const Sides& sides, const model::Table* summary_comparison);

}  // namespace assay::trace
