// The whole job of a job's file, ready to be simulated launch by launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.h"
#include "goal/choose_algorithms.h"
#include "goal/job_file.h"
#include "goal/launch_groups.h"
#include "goal/launch_source.h"
#include "goal/resolve.h"
#include "model/schedule_notes.h"

namespace assay::goal {

// A collective or a group of operations on all GPUs that it connects.
struct JobLaunch {
  std::vector<std::uint32_t> operations;  // of the notes, ascending
  std::vector<LaunchId> parts;            // their launches are those of the schedule
  std::uint64_t bytes = 0;                // the most that a GPU's operations add up to
  std::int64_t source = -1;               // GPUs of a single send and its receive
  std::int64_t destination = -1;
  // The recording: starts and ends are comparable with one clock, and known where timed.
  std::int64_t measured_start_ns = 0;
  std::int64_t measured_last_start_ns = 0;
  std::int64_t measured_end_ns = 0;
  std::size_t clocks = 0;
  bool timed = true;
};

struct LaunchJob {
  model::Job job;  // with its replicas
  Costs costs;
  std::vector<NewChoice> choices;
  Resolved resolved;
  std::unique_ptr<const LaunchSource> schedule;
  model::ScheduleNotes notes;  // without spans
  std::vector<JobLaunch> launches;
  model::Warnings warnings;
};

// The parts of the result refer to each other. Exchanges that do not fit together are left out and
// counted.
core::Result<std::unique_ptr<const LaunchJob>> make_launch_job(const JobFile& file);

}  // namespace assay::goal
