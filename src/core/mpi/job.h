// Joins the MPI job that mpirun or srun started, without being linked to MPI.
#pragma once

#include "core/mpi/functions.h"
#include "core/result.h"

namespace assay::core::mpi {

struct Job {
  const Functions* functions = nullptr;
  int rank = 0;
  int size = 1;
};

// Opens libassay_mpi.so, beside the program or in its lib folder, and joins the job. A process
// calls it at most once. Errors: the library or the MPI that it needs is missing. If MPI cannot
// start, MPI itself ends the process.
Result<Job> join();

Status status_of(const Job& job, int error);

}  // namespace assay::core::mpi
