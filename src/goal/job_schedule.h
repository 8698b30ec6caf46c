// The whole schedule of a job's file in memory, for simulations that need the graph.
#pragma once

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

// Error: the graph has more operations than memory should hold. To count them takes little.
core::Status check_whole_graph(const JobFile& file);

// Makes what `assay goal generate` would write, on one processor. Fails as check_whole_graph does.
core::Result<JobSchedule> make_job_schedule(const JobFile& file);

}  // namespace assay::goal
