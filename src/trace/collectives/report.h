// The multi-rank collective report (`assay trace collectives`).
#pragma once

#include <optional>
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
// `gpus_per_node` tells which ranks share a host; otherwise the traces' device lists tell.
CollectiveReport collective_report(std::span<const RankAnalysis> ranks,
                                   std::optional<int> gpus_per_node = std::nullopt);

}  // namespace assay::trace
