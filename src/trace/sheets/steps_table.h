// The sheet `steps`: one row for each profiled step of a rank. Comparisons read it again.
#pragma once

#include "model/table.h"
#include "trace/analysis.h"
#include "trace/timeline.h"

namespace assay::trace {

// The columns of `steps`. Those of times are named after the rows of gpu_timeline, and
// "period" is total_time.
inline constexpr const char* kStepsSheet = "steps";
inline constexpr const char* kPeriodColumn = "period ms";
inline constexpr const char* kWaitColumn = "wait before ms";
inline constexpr const char* kHostColumn = "host-bound ms";
inline constexpr const char* kHostShareColumn = "host-bound %";
inline constexpr const char* kDelayColumn = "launch delay us";
inline constexpr const char* kQueueColumn = "queue length";
inline constexpr const char* kEventsColumn = "GPU events";
inline constexpr const char* kEndColumn = "period ends with";
// In kEndColumn: a comparison leaves the step out.
inline constexpr const char* kHoldsNext = "a later step";

// The rank must have steps.
model::Table steps_table(const RankAnalysis& rank, const BusyIntervals& busy);

}  // namespace assay::trace
