// Summarizes a simulation in tables, and compares the times of NCCL's operations with measured
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.h"
#include "model/schedule_notes.h"
#include "model/table.h"
#include "simulate/critical_path.h"
#include "simulate/simulate.h"

namespace assay::simulate {

struct CollectiveTime {
  std::uint32_t operation = 0;  // index into ScheduleNotes::operations
  std::int64_t start_ns = 0;    // first start of its parts on any rank
  std::int64_t end_ns = 0;      // last end of its parts
  // The same in the recording; only valid if all its ranks share a clock and were timed.
  std::int64_t measured_start_ns = 0;
  std::int64_t measured_end_ns = 0;
  bool measured = false;
};

// Returns the times of every operation of the notes that has a part in the schedule, in the order
// of the notes. `outcome` must have finished. Fails when the notes belong to another schedule.
core::Result<std::vector<CollectiveTime>> collective_times(const Outcome& outcome,
                                                           const model::ScheduleNotes& notes);

// One row per operation, with its simulated and its measured start and end.
model::Table operation_table(const std::vector<CollectiveTime>& times,
                             const model::ScheduleNotes& notes);

// One row: the amount of work, and when the ranks were done.
model::Table overview(const Outcome& outcome);

// The `most` ranks that end last, last first; all ranks by number when there are no more.
model::Table rank_table(const Outcome& outcome, std::size_t most);

// The parts of the critical path's time.
model::Table critical_path_table(const Outcome& outcome, const CriticalPath& path);

// The longest segments of the critical path.
model::Table segment_table(const Outcome& outcome, const CriticalPath& path, std::size_t most);

// The times of NCCL's operations by function and algorithm.
model::Table collective_table(const std::vector<CollectiveTime>& times,
                              const model::ScheduleNotes& notes);

}  // namespace assay::simulate
