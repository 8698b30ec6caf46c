// Tells which of the processes that mpirun or srun started this one is.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/result.h"

namespace assay::core {

struct LaunchedRank {
  int rank = 0;
  int size = 1;
  std::string job;  // made of letters, digits and '_': the same for all ranks of one launch
  std::optional<int> local_size = {};  // ranks on this host, where the launcher tells it
};

using Variables = std::function<const char*(const char* name)>;

// Reads the environment variables of Open MPI, MPICH, Slurm and similar launchers; std::nullopt for
// a program that was started by hand or alone. Error: a variable that is not a number but should
// be.
Result<std::optional<LaunchedRank>> launched_rank(const Variables& variables);

}  // namespace assay::core
