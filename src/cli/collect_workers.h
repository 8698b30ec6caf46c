// Which program measures for `assay collect`, and with which arguments.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collect/plan/module.h"
#include "collect/run/collection.h"
#include "core/launched_rank.h"
#include "core/result.h"

namespace assay::cli {

using WorkerArguments = decltype(collect::CollectOptions::worker);

// On each GPU, or on all of them for collectives.
WorkerArguments worker_of(const std::filesystem::path& program);

// As one process of an MPI job.
WorkerArguments worker_in_job(const std::filesystem::path& program);

// Python with the module.
WorkerArguments worker_of(const collect::ModuleProgram& program);

// Error: the files that come with assay are not where they should be.
core::Result<collect::ModuleProgram> module_program(const std::filesystem::path& module);

// This process among those that mpirun or srun started; nothing when it is alone.
core::Result<std::optional<core::LaunchedRank>> own_rank();

// Becomes the worker of a rank that is not the first; returns only an error.
core::Error become_follower(const std::filesystem::path& program);

}  // namespace assay::cli
