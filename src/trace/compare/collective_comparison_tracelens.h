// The collective comparison as the public tool makes it (requirement version of aorta).
#pragma once

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// Its figures: the first row of each (Collective name, dtype, In msg nelems), keys that one side
// lacks dropped, no metric at all in nccl_long_cmp.
model::Book tracelens_collective_comparison(const Sides& sides);

// The combined sheets with "summary" in their name.
model::Book combined_summaries(const Sides& sides);

}  // namespace assay::trace
