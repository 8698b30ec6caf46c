// The report on the communication between ranks (`assay trace collectives`).
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "model/table.h"
#include "model/warnings.h"
#include "trace/analysis.h"
#include "trace/collectives/event.h"

namespace assay::trace {

namespace collectives {
struct Study;
}

struct CollectiveReport {
  // What rows of the largest sheets are made from, when they are read.
  std::shared_ptr<const collectives::Study> study;
  model::Book book;          // the sheets that have something to show
  model::Table overview;     // for the terminal; its note names the straggler
  model::Warnings warnings;  // about events that could not be compared; without those of the traces
};

// Takes of a rank what the report needs.
collectives::RankRecording record_for_report(const RankAnalysis& rank);

// The ranks may come in any order but must have the same options. `gpus_per_node` decides which
// ranks share a host; without it, the device lists of the traces do.
CollectiveReport collective_report(std::span<const collectives::RankRecording> ranks,
                                   std::optional<int> gpus_per_node = std::nullopt);
CollectiveReport collective_report(std::span<const RankAnalysis> ranks,
                                   std::optional<int> gpus_per_node = std::nullopt);

}  // namespace assay::trace
