// The whole job of a job's file, ready to be simulated launch by launch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.h"
#include "goal/choose_algorithms.h"
#include "goal/job_file.h"
#include "goal/launch_source.h"
#include "goal/resolve.h"
#include "model/schedule_notes.h"

namespace assay::goal {

// When an operation ran in the recording; nothing where its ranks share no clock.
struct MeasuredTime {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool known = false;
};

struct LaunchJob {
  model::Job job;  // with its replicas
  Costs costs;
  std::vector<NewChoice> choices;
  Resolved resolved;
  std::unique_ptr<const LaunchSource> schedule;
  model::ScheduleNotes notes;          // without spans
  std::vector<MeasuredTime> measured;  // by operation of the notes
  model::Warnings warnings;
};

// The parts of the result refer to each other. Exchanges that do not fit together are left out and
// counted.
core::Result<std::unique_ptr<const LaunchJob>> make_launch_job(const JobFile& file);

}  // namespace assay::goal
