// A team whose ranks are the processes that mpirun or srun started.
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

// Opens libassay_mpi.so, beside the program or in its lib folder, and joins the job. A process
// calls it at most once. Errors: the library or the MPI that it needs is missing. If MPI cannot
// start, MPI itself ends the process.
core::Result<MpiRank> join_mpi();

core::Status mpi_status(const MpiRank& rank, int error);

// The team, in rank 0. Its destructor makes the other ranks end.
std::unique_ptr<Team> make_mpi_team(const MpiRank& job, std::unique_ptr<TeamRank> own);

// Executes the orders of rank 0, in the other ranks, until rank 0 ends.
core::Status follow_mpi(const MpiRank& job, TeamRank& own);

}  // namespace assay::collect
