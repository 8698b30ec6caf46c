// Implements `assay goal generate`, which turns a recording into a schedule with its notes.
//
// The stages, each of which takes the value of the one before:
//
//   recording ─ read_job ─▶ job ─ cut_window, scale, choose_algorithms ─▶ job ─ resolve ─▶
//   exchanges ─ plan_tags, plan_streams ─▶ SchedulePlan ─ Expander ─▶ ranks ─ Proof, write_schedule
//   ─▶ files
//
// --compat v2 plans and expands a job by other rules (compat_v2/compat_v2.h).
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"
#include "goal/choose_algorithms.h"
#include "goal/costs.h"
#include "goal/expand.h"
#include "goal/input.h"
#include "goal/reshape_job.h"
#include "goal/schedule_files.h"
#include "goal/simulators.h"
#include "goal/tags.h"
#include "goal/timeline.h"
#include "model/job.h"
#include "model/table.h"

namespace assay::goal {

struct GenerateOptions {
  ExpandOptions expand;
  StreamOptions streams;
  TagOptions tags;
  Misfits misfits = Misfits::kLeaveOut;
  unsigned threads = 0;  // 0: one per processor
};

// kV2: the graph of the public generator (compat_v2/compat_v2.h).
enum class Compat { kNone, kV2 };

struct GenerateRequest {
  std::filesystem::path input;
  InputOptions input_options;
  Window window;
  ScaleOptions scale;
  ChoiceOptions choices;  // of an enlarged job
  Costs costs;
  GenerateOptions options;
  Simulator simulator = Simulator::kAssay;
  Compat compat = Compat::kNone;  // kV2 heeds streams, threads and "decimal:I/C" of `options`
  ScheduleTarget target;          // its folder is made when missing
};

struct GenerateResult {
  model::Book summary;
  model::Warnings warnings;
  std::vector<std::filesystem::path> written;
  std::size_t removed = 0;   // files of an earlier schedule
  std::string next_command;  // runs the schedule; empty where only its parts were written
};

core::Result<GenerateResult> generate(const GenerateRequest& request);

// The stages behind reading and cutting, for a job that is there already. `request.input` says in
// titles and notes where it comes from.
core::Result<GenerateResult> generate_of(const model::Job& recorded,
                                         const GenerateRequest& request);

// Returns the files of a schedule with the command that runs it, and nothing else.
GenerateResult result_of(const WrittenSchedule& written, Simulator simulator);

// Returns what is known of a job's GPUs and operations, without tags and without a graph.
model::ScheduleNotes notes_of(const Resolved& resolved);

// The stages from a job to a plan. The plan refers to the job and the costs.
core::Result<SchedulePlan> plan_schedule(const model::Job& job,
                                         const Costs& costs,
                                         const GenerateOptions& options);

}  // namespace assay::goal
