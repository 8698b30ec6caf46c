// The GPU timelines of all ranks of one configuration, side by side.
#pragma once

#include <span>

#include "model/table.h"
#include "trace/compare/configuration.h"
#include "trace/options.h"

namespace assay::trace {

// Sheets, with types in alphabetical order:
//   Summary             type, time ms, percent, num_ranks: means over ranks. By default also mean,
//                       std, min and max (ms) over all steps and ranks, and their count n.
//   All_Ranks_Combined  type, time ms, percent, rank
//   Per_Rank_Time_ms    type, then a column for each rank
//   Per_Rank_Percent    type, then a column for each rank
//   Per_Step            step, type, mean, std, min, max (ms) over ranks; absent for kTraceLens and
//                       when no rank names its steps
model::Book timeline_summary(std::span<const RankReport> ranks, Compat compat);

}  // namespace assay::trace
