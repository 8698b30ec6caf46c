// nccl_long_cmp: every collective kernel's duration, synchronising or not.
#pragma once

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// From nccl_summary_long of both sides, all its ranks and streams pooled. Durations hold the
// wait for the last rank, so they are shown without a verdict: ranks of one collective are no
// repetitions.
model::Table compare_long(const Sides& sides);

}  // namespace assay::trace
