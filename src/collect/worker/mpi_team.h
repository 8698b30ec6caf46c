// A team whose ranks are the processes that mpirun or srun started.
#pragma once

#include <functional>
#include <memory>

#include "collect/worker/team.h"
#include "core/mpi/job.h"
#include "core/result.h"

namespace assay::collect {

namespace mpi = core::mpi;

using MpiRank = mpi::Job;

// The team, in rank 0. Its destructor makes the other ranks end.
std::unique_ptr<Team> make_mpi_team(const MpiRank& job, std::unique_ptr<TeamRank> own);

// Executes the orders of rank 0, in the other ranks, until rank 0 ends.
core::Status follow_mpi(const MpiRank& job, TeamRank& own);

}  // namespace assay::collect
