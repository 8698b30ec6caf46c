// `assay simulate --study FILE`.
#pragma once

#include <filesystem>

#include "cli/command.h"
#include "cli/summary_output.h"
#include "core/result.h"

namespace assay::cli {

struct StudyRequest {
  std::filesystem::path file;
  std::filesystem::path folder;
  bool plan_only = false;
  bool retry_failed = false;
  unsigned threads = 0;  // tasks at once; 0: one a processor, under mpirun or srun one a process
  Presentation presentation = {};
};

// Simulates the tasks that have no result yet and, once all have one, writes and shows the table.
// Processes that mpirun or srun started share the tasks, and so do the elements of a Slurm array.
// Error: tasks failed.
core::Result<Outcome> run_study_command(const StudyRequest& request);

}  // namespace assay::cli
