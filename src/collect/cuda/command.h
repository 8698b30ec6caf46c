#pragma once

#include <string>
#include <vector>

namespace assay::collect {

// `collect [--gpus 0[,1,...]] [--mpi | --self-test | --nccl-memory]`, without that word; what they
// are: cli/gpu_worker/usage.h. Returns the exit code.
int run_collect_command(const std::vector<std::string>& arguments);

}  // namespace assay::collect
