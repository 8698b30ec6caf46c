// Which of the processes that mpirun or srun started this one is.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/result.h"

namespace assay::core {

struct LaunchedRank {
  int rank = 0;
  int size = 1;
  std::string job;  // of letters, digits and '_': the same for all ranks of one launch
  std::optional<int> local_size = {};  // ranks on this host, where the launcher says it
};

using Variables = std::function<const char*(const char* name)>;

// What Open MPI, MPICH, Slurm and their like say in the environment; nothing when started by hand
// or alone. Error: a number that is none.
Result<std::optional<LaunchedRank>> launched_rank(const Variables& variables);

}  // namespace assay::core
