// The GPU timeline comparison as the public tool makes it (requirement version of aorta).
#pragma once

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Its figures: means over ranks of the whole trace, 0 % for a baseline of zero, "Better" from
// +1 % and "Worse" from -1 % for every row alike, busy_time included. Ranks and types that one
// side lacks do not appear.
model::Book tracelens_timeline_comparison(const Sides& sides);

}  // namespace assay::trace
