// Runs a collection for a command: chooses the programs of its workers, shows its progress on a
// terminal, and gives it time to stop after Ctrl-C.
#pragma once

#include <filesystem>
#include <optional>

#include "cli/summary_output.h"
#include "collect/plan/module.h"
#include "collect/plan/plan.h"
#include "collect/run/collection.h"
#include "core/launched_rank.h"
#include "core/result.h"

namespace assay::cli {

using WorkerArguments = decltype(collect::CollectOptions::worker);

// Makes a worker for each GPU, or for collectives one worker for all of them.
WorkerArguments worker_of(const std::filesystem::path& program);

// Makes a worker that is Python with the module.
WorkerArguments worker_of(const collect::ModuleProgram& program);

// Makes a worker that is one process of an MPI job.
WorkerArguments worker_in_job(const std::filesystem::path& program);

// Fails if the files that come with assay are not in their place.
core::Result<collect::ModuleProgram> module_program(const std::filesystem::path& module);

// Returns the rank of this process among those that mpirun or srun started, or std::nullopt if it
// is alone.
core::Result<std::optional<core::LaunchedRank>> own_rank();

// Replaces this process with the worker of a rank that is not the first. Returns only on an error.
core::Error become_follower(const std::filesystem::path& program);

// Warns of other work on the processors or the GPUs that the run will use, and notes it in the
// run's record. The other ranks of an MPI job are no other work, so that nothing is said there.
void warn_of_other_work(collect::CollectOptions& options);

core::Result<collect::CollectResult> collect_with_progress(const collect::CollectOptions& options,
                                                           const collect::Plan& plan,
                                                           const Presentation& presentation);

}  // namespace assay::cli
