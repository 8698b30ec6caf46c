// The comparison as the public tool makes it (requirement version of aorta): its sheets, columns
// and figures, including its defects.
#pragma once

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Means over ranks of the whole traces, with all types in alphabetical order; "Better" and "Worse"
// start at 1 %.
model::Book tracelens_timeline_comparison(const Sides& sides);

// Uses the first row of each (Collective name, dtype, In msg nelems) and drops keys that one side
// lacks; nccl_long_cmp has no metrics at all.
model::Book tracelens_collective_comparison(const Sides& sides);

// Made from Summary_Comparison; has no rows when that is null. Figures are rounded to 2 digits;
// "Better" above 0, "Worse" from -1 %.
model::Table tracelens_dashboard(const Sides& sides, const model::Table* summary_comparison);

}  // namespace assay::trace
