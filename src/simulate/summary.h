// The tables that tell of a simulation.
#pragma once

#include <cstddef>
#include <optional>

#include "model/schedule_notes.h"
#include "model/table.h"
#include "simulate/collective_times.h"
#include "simulate/critical_path.h"
#include "simulate/simulate.h"

namespace assay::simulate {

// One row: how much there was to do, and when the ranks were done.
model::Table overview(const Outcome& outcome);

// The ranks that end last, last first; all of them, by number, when `most` is not below their
// number.
model::Table rank_table(const Outcome& outcome, std::size_t most);

// What the time of the critical path was spent on.
model::Table critical_path_table(const CriticalPath& path);

// Its longest segments.
model::Table segment_table(const Outcome& outcome, const CriticalPath& path, std::size_t most);

// By function and algorithm.
model::Table collective_table(const std::vector<CollectiveTime>& times,
                              const model::ScheduleNotes& notes);

}  // namespace assay::simulate
