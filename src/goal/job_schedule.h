// The whole schedule of a job's file in memory, for simulations that need the graph.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "goal/job_file.h"
#include "model/schedule.h"
#include "model/schedule_notes.h"
#include "model/warnings.h"

namespace assay::goal {

struct JobSchedule {
  model::Schedule schedule;
  model::ScheduleNotes notes;
  model::Warnings warnings;
};

// Makes what `assay goal generate` would write, on one processor. Fails when that has more
// operations than `most`.
core::Result<JobSchedule> make_job_schedule(const JobFile& file, std::uint64_t most_operations);

}  // namespace assay::goal
