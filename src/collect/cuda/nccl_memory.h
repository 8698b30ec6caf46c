// What NCCL's communicators take on a GPU: nccl_mem of a system's file.
#pragma once

#include <vector>

namespace assay::collect {

// Prints, for 2, 4, 8, ... of these GPUs, the bytes that a communicator and its first all-reduce
// take on the first of them, as a file that `assay store system --cite` reads. Each is measured in
// a process of its own: what NCCL loads once would count for the first alone. Gives the exit
// status. To be called before anything of CUDA.
int print_nccl_memory(const std::vector<int>& gpus);

}  // namespace assay::collect
