// The ranks of an all-reduce benchmark. allreduce/bench/protocol.h defines the lines that they
// exchange with `assay`.
#pragma once

#include <string>
#include <vector>

namespace assay::allreduce {

// Runs `assay-worker allreduce --tp N ...`; `arguments` begins with "allreduce". Returns the exit
// code, or ends the process where other ranks may wait forever.
int run_allreduce_command(const std::vector<std::string>& arguments);

}  // namespace assay::allreduce
