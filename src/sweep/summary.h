// What came of a sweep, as tables.
#pragma once

#include <filesystem>
#include <span>

#include "core/result.h"
#include "model/table.h"
#include "sweep/plan.h"
#include "sweep/run_record.h"

namespace assay::sweep {

// Tables:
//   runs         a row a run, in the order they were started
//   settings     a row a setting: its variables, how many runs went well, how long they took
//   environment  what the first good run was measured with
//   warnings     what makes runs doubtful, and what differs between them
// Paths are relative to `folder`.
model::Book summary(const Plan& plan,
                    std::span<const RunRecord> records,
                    const std::filesystem::path& folder);

// What of it fits a terminal: without paths and times of day, without what the run was measured
// with, and without the warnings, which are shown by themselves.
model::Book for_terminal(const model::Book& summary);

// sweep_summary.txt, .json, and .csv (the runs).
core::Status write_summary(const model::Book& summary, const std::filesystem::path& folder);

}  // namespace assay::sweep
