// The command `assay-worker collect`, and the commands that people run by hand.
#pragma once

#include <string>
#include <vector>

namespace assay::collect {

// Runs `assay-worker collect` with these arguments, which cli/gpu_worker/main.cc describes. Returns
// the exit code.
int run_collect_command(const std::vector<std::string>& arguments);

// Checks and times some shapes of each family of kernels on this GPU, without the rest of assay,
// and prints a line for each. Returns the exit code: 1 if a shape is wrong or fails.
int run_self_test(const std::vector<int>& gpus);

// Prints the bytes that a communicator of NCCL and its first all-reduce take on the first of these
// GPUs, for 2, 4, 8, ... of them. They are nccl_mem of a system's file, and are printed as a file
// that `assay store system --cite` reads. Each number of GPUs is measured in a process of its own,
// because what NCCL loads once would count for the first number alone. Returns the exit code. It
// must be called before anything of CUDA.
int print_nccl_memory(const std::vector<int>& gpus);

}  // namespace assay::collect
