// The GPU work of one step on all ranks, as a chart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "report/page.h"
#include "trace/analysis.h"

namespace assay::trace {

// Returns the number of the step of median length, by its mean over ranks: what a reader should
// take for typical. std::nullopt where no rank names its steps.
std::optional<std::int64_t> typical_step(std::span<const RankAnalysis> ranks);

// A lane for each rank, with a row of computation and copies and one of communication. The ranks'
// times are as recorded, from the first to begin the step. Neighbours are joined where there are
// more than a reader could see.
report::TimelineChart step_timeline(std::span<const RankAnalysis> ranks, std::int64_t step);

}  // namespace assay::trace
