// The processes of an MPI job as a ProcessGroup.
#pragma once

#include <memory>

#include "core/mpi/job.h"
#include "core/process_group.h"

namespace assay::core::mpi {

// Leaves the job when it is destroyed; by then all of its processes must have said all they had to.
std::unique_ptr<ProcessGroup> make_process_group(const Job& job);

}  // namespace assay::core::mpi
