// A team of the processes that mpirun or srun started.
#pragma once

#include <functional>
#include <memory>

#include "collect/mpi/functions.h"
#include "collect/worker/team.h"
#include "core/result.h"

namespace assay::collect {

struct MpiRank {
  const mpi::Functions* functions = nullptr;
  int rank = 0;
  int size = 1;
};

// Opens libassay_mpi.so, beside the program or in its lib folder, and joins the job. At most once
// in a process. Errors: no such library, no MPI below it; MPI ends the process by itself when it
// cannot start.
core::Result<MpiRank> join_mpi();

core::Status mpi_status(const MpiRank& rank, int error);

// Rank 0's side; its end lets the others end.
std::unique_ptr<Team> make_mpi_team(const MpiRank& job, std::unique_ptr<TeamRank> own);

// The side of the others: returns when rank 0 ends.
core::Status follow_mpi(const MpiRank& job, TeamRank& own);

}  // namespace assay::collect
