#pragma once

#include <string>
#include <vector>

namespace assay::collect {

// Runs `assay-worker collect` with these arguments, which cli/gpu_worker/main.cc describes. Returns
// the exit code.
int run_collect_command(const std::vector<std::string>& arguments);

}  // namespace assay::collect
