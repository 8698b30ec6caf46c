// How commands run a collection: which programs its workers are, its progress on a terminal, and
// the time that Ctrl-C gives it to stop.
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

// A worker on each GPU, or one on all of them for collectives.
WorkerArguments worker_of(const std::filesystem::path& program);

// Python with the module.
WorkerArguments worker_of(const collect::ModuleProgram& program);

// A worker that is one process of an MPI job.
WorkerArguments worker_in_job(const std::filesystem::path& program);

// Error: the files that come with assay are not where they should be.
core::Result<collect::ModuleProgram> module_program(const std::filesystem::path& module);

// The rank of this process among those that mpirun or srun started; std::nullopt when it is alone.
core::Result<std::optional<core::LaunchedRank>> own_rank();

// Replaces this process by the worker of a rank that is not the first; returns only on an error.
core::Error become_follower(const std::filesystem::path& program);

core::Result<collect::CollectResult> collect_with_progress(const collect::CollectOptions& options,
                                                           const collect::Plan& plan,
                                                           const Presentation& presentation);

}  // namespace assay::cli
