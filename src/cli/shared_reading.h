// Commands whose reading the processes share that mpirun or srun started.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/command.h"
#include "core/launched_rank.h"
#include "core/process_group.h"
#include "core/result.h"
#include "trace/pipelines.h"

namespace assay::cli {

// Runs a command. In an MPI job, process 0 runs it with the others in Request::processes, and they
// read for it: they print nothing, and what fails in one of them fails in process 0.
core::Result<Outcome> run_shared(trace::Request& request,
                                 const std::function<core::Result<Outcome>()>& run);

// Joins the MPI job that the launcher started. Error: MPI is missing, or another one than the
// launcher's.
core::Result<std::unique_ptr<core::ProcessGroup>> join_processes(
    const core::LaunchedRank& launched);

// A paragraph for the help of such a command.
std::string shared_reading_help();

}  // namespace assay::cli
