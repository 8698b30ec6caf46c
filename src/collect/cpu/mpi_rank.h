// Collectives of an MPI job itself, on buffers in the CPUs' memory.
#pragma once

#include <memory>

#include "collect/worker/mpi_team.h"
#include "collect/worker/team.h"

namespace assay::collect {

std::unique_ptr<TeamRank> make_cpu_mpi_rank(const MpiRank& job);

}  // namespace assay::collect
