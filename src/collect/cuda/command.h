#pragma once

#include <string>
#include <vector>

namespace assay::collect {

// `assay-worker collect --gpus 0[,1,...] [--self-test | --nccl-memory]`, without the program's
// name. Returns the exit code.
int run_collect_command(const std::vector<std::string>& arguments);

}  // namespace assay::collect
