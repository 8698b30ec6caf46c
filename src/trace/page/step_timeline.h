// The GPU work of one step on all ranks, as a chart.
#pragma once

#include <cstdint>
#include <optional>

#include "report/page.h"
#include "trace/path/execution.h"

namespace assay::trace {

// Returns the period of a step, mean over the ranks that have it.
double step_period_ms(const path::Execution& execution, std::int64_t step);

// Returns the number of the step of median period, by its mean over ranks: what a reader should
// take for typical. std::nullopt where no rank names its steps.
std::optional<std::int64_t> typical_step(const path::Execution& execution);

// A lane for each rank, with a row of computation and copies and one of communication, from the
// first rank to begin the step, and the critical path marked. Neighbours are joined where there are
// more than a reader could see.
report::TimelineChart step_timeline(const path::Execution& execution, std::int64_t step);

}  // namespace assay::trace
