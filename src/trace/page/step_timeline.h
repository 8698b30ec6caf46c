// The GPU work of one step on all ranks, as a chart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/page.h"
#include "trace/analysis.h"

namespace assay::trace {

// Returns the number of the step of median length, by its mean over ranks: what a reader should
// take for typical. std::nullopt where no rank names its steps.
std::optional<std::int64_t> typical_step(std::span<const RankAnalysis> ranks);

// What an execution tells of its events, by the position of the rank.
struct OnOneClock {
  std::vector<double> shift_us;             // recorded time + shift_us = time on one clock
  std::vector<std::vector<bool>> critical;  // for each GPU event: on the critical path
};

OnOneClock on_one_clock(std::span<const RankAnalysis> ranks);

// A lane for each rank, with a row of computation and copies and one of communication, from the
// first rank to begin the step. Neighbours are joined where there are more than a reader could see.
report::TimelineChart step_timeline(std::span<const RankAnalysis> ranks,
                                    std::int64_t step,
                                    const OnOneClock& clock);

}  // namespace assay::trace
