// The ranks of an all-reduce benchmark. The lines that they exchange with `assay`:
// allreduce/bench/protocol.h.
#pragma once

#include <string>
#include <vector>

namespace assay::allreduce {

// `assay-worker allreduce --tp N ...`, from "allreduce" on. Returns the exit code, or ends the
// process where other ranks may wait for ever.
int run_allreduce_command(const std::vector<std::string>& arguments);

}  // namespace assay::allreduce
