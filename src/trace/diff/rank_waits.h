// How long GPU work waited for other ranks, as far as the traces of a run tell.
#pragma once

#include <span>
#include <vector>

#include "trace/analysis.h"

namespace assay::trace {

// Returns microseconds by position in `ranks` and GPU event; 0 of what waits for no rank. It is NaN
// of communication that is not matched across all of its ranks: how much of its time is a wait is
// not known.
std::vector<std::vector<double>> rank_waits_us(std::span<const RankAnalysis> ranks);

}  // namespace assay::trace
