// How long the operations of NCCL took in a simulation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/schedule_notes.h"
#include "model/table.h"
#include "simulate/simulate.h"

namespace assay::simulate {

struct CollectiveTime {
  std::uint32_t operation = 0;  // index into ScheduleNotes::operations
  std::int64_t start_ns = 0;    // when the first of its operations starts on any rank
  std::int64_t end_ns = 0;      // when the last one ends
  // The same in the recording; meaningless unless all its ranks share a clock and were timed.
  std::int64_t measured_start_ns = 0;
  std::int64_t measured_end_ns = 0;
  bool measured = false;
};

// Of every operation of the notes that has a part in the schedule, in the order of the notes.
// `outcome` must have finished. Fails when the notes are those of another schedule.
core::Result<std::vector<CollectiveTime>> collective_times(const Outcome& outcome,
                                                           const model::ScheduleNotes& notes);

// One row an operation, with its simulated and its measured start and end.
model::Table operation_table(const std::vector<CollectiveTime>& times,
                             const model::ScheduleNotes& notes);

}  // namespace assay::simulate
