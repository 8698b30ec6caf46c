// The worker of `bench --nccl-sweep`: ranks that are threads of this process, NCCL with our tuner
// plugin in it, and the answers to the lines of bench/nccl_protocol.h.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::allreduce {

struct NcclWorkerOptions {
  std::vector<int> gpus;
  std::string plugin;  // libassay_nccl_tuner.so
};

// Reads requests from standard input until it ends. After an error the process must end at once,
// because other ranks may wait for GPUs that will never answer.
core::Status serve_nccl_sweep(const NcclWorkerOptions& options, std::FILE* to);

}  // namespace assay::allreduce
