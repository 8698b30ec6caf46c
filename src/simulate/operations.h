// Compares the simulated times of NCCL's operations with the measured ones, launch by launch. A
// launch is what began and ended together: one collective, or a group of operations, such as the
// sends and receives of an all-to-all, on all ranks that it connects. NCCL runs a group as one
// kernel a rank, so that only the group has a measured time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/schedule_notes.h"
#include "model/table.h"
#include "simulate/simulate.h"

namespace assay::simulate {

// Whether the measured times of a launch can be compared.
enum class Measured : std::uint8_t {
  kYes,
  kNoTimes,       // the recording has no time of a kernel
  kSeveralClocks  // its ranks have clocks that cannot be compared
};

struct LaunchTime {
  std::vector<std::uint32_t> operations;  // indices into ScheduleNotes::operations, ascending
  std::uint32_t num_ranks = 0;
  std::uint64_t bytes = 0;         // the most that a rank's operations add up to
  std::int64_t start_ns = 0;       // first start on any rank
  std::int64_t last_start_ns = 0;  // start on the rank that starts last
  std::int64_t end_ns = 0;         // last end of its parts
  std::int64_t source = -1;        // of a launch with one send and its receive, else -1
  std::int64_t destination = -1;
  // The same in the recording; only valid with Measured::kYes.
  std::int64_t measured_start_ns = 0;
  std::int64_t measured_last_start_ns = 0;
  std::int64_t measured_end_ns = 0;
  Measured measured = Measured::kYes;
};

// Returns the times of the launches of the notes that have a part in the schedule, in the order of
// their first operations. Operations of a rank belong to one launch if nothing lies between them in
// the graph; it starts on a rank when the calculation before it ends. `outcome` must have finished.
// Fails when the notes belong to another schedule.
core::Result<std::vector<LaunchTime>> launch_times(const Outcome& outcome,
                                                   const model::ScheduleNotes& notes);

// One row per launch, with its simulated and its measured start and end.
model::Table operation_table(const std::vector<LaunchTime>& times,
                             const model::ScheduleNotes& notes);

// The times of launches by function and algorithm.
model::Table collective_table(const std::vector<LaunchTime>& times,
                              const model::ScheduleNotes& notes);

}  // namespace assay::simulate
