// Commands whose reading the processes share that mpirun or srun started.
#pragma once

#include <functional>
#include <string>

#include "cli/command.h"
#include "core/result.h"
#include "trace/pipelines.h"

namespace assay::cli {

// Runs a command. In an MPI job, process 0 runs it with the others in Request::processes, and they
// read for it: they print nothing, and what fails in one of them fails in process 0.
core::Result<Outcome> run_shared(trace::Request& request,
                                 const std::function<core::Result<Outcome>()>& run);

// A paragraph for the help of such a command.
std::string shared_reading_help();

}  // namespace assay::cli
