#include "cli/shared_reading.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <memory>
#include <optional>

#include "cli/output.h"
#include "core/launched_rank.h"
#include "core/mpi/process_group.h"

namespace assay::cli {
namespace {

// All processes find the same; process 0 tells it.
constexpr auto kToldByAnother = static_cast<Outcome>(1);

}  // namespace

core::Result<std::unique_ptr<core::ProcessGroup>> join_processes(
    const core::LaunchedRank& launched) {
  const core::mpi::Job job = ASSAY_TRY(core::mpi::join());
  auto processes = core::mpi::make_process_group(job);
  if (job.size != launched.size)
    return core::Error{
        fmt::format("{} processes were started, but MPI knows of {}: was assay built with the MPI "
                    "of this launcher?",
                    launched.size, job.size)};
  return processes;
}

namespace {

core::Result<Outcome> lead(trace::Request& request,
                           core::ProcessGroup& processes,
                           const std::function<core::Result<Outcome>()>& run) {
  request.processes = &processes;
  core::Result<Outcome> outcome = run();
  request.processes = nullptr;
  trace::dismiss(processes);
  return outcome;
}

}  // namespace

core::Result<Outcome> run_shared(trace::Request& request,
                                 const std::function<core::Result<Outcome>()>& run) {
  // A program that calls the library may be part of an MPI job of its own.
  if (Listener::current() != nullptr) return run();
  const auto launched =
      ASSAY_TRY(core::launched_rank([](const char* name) { return ::getenv(name); }));
  if (!launched) return run();
  auto processes = join_processes(*launched);
  const bool leads = launched->rank == 0;
  if (!processes.ok()) return leads ? core::Result<Outcome>(processes.error()) : kToldByAnother;
  if (leads) return lead(request, *processes.value(), run);
  static_cast<void>(trace::follow(request, *processes.value()));
  return Outcome::kOk;
}

std::string shared_reading_help() {
  return "Under mpirun or srun the processes share the ranks: each reads its own, one at a time "
         "unless --threads says more, and process 0 writes the reports, which are those of a "
         "single process. All of them must see the same folders. A program that is itself part of "
         "an MPI job must start this one without the launcher's variables (OMPI_COMM_WORLD_RANK, "
         "PMI_RANK, SLURM_PROCID).";
}

}  // namespace assay::cli
