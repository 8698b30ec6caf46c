// The multi-rank collective report (`assay trace collectives`).
#pragma once

#include <span>

#include "model/table.h"
#include "model/warnings.h"
#include "trace/analysis.h"

namespace assay::trace {

struct CollectiveReport {
  model::Book book;          // every sheet that has something to show
  model::Table overview;     // for a terminal; its note names the straggler
  model::Warnings warnings;  // events that could not be compared; not those of the traces
};

// Ranks in any order, all with the same options; the mode is that of the first.
CollectiveReport collective_report(std::span<const RankAnalysis> ranks);

}  // namespace assay::trace
