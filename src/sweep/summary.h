// The outcome of a sweep, as tables.
#pragma once

#include <filesystem>
#include <span>

#include "core/result.h"
#include "model/table.h"
#include "sweep/plan.h"
#include "sweep/run_record.h"

namespace assay::sweep {

// Tables:
//   runs         one row for each run, in the order in which they were started
//   settings     one row for each setting: its variables, successful runs and their duration
//   environment  the hardware and software of the first good run
//   warnings     reasons to doubt runs, and differences between them
// Paths are relative to `folder`.
model::Book summary(const Plan& plan,
                    std::span<const RunRecord> records,
                    const std::filesystem::path& folder);

// Returns the part that fits a terminal. It leaves out paths, times of day and the environment, and
// also the warnings, which are shown separately.
model::Book for_terminal(const model::Book& summary);

// Writes sweep_summary.txt, sweep_summary.json, and sweep_summary.csv with the runs.
core::Status write_summary(const model::Book& summary, const std::filesystem::path& folder);

}  // namespace assay::sweep
