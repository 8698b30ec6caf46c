// What the measurements were made on.
#pragma once

#include <vector>

#include "allreduce/bench/protocol.h"
#include "core/result.h"

namespace assay::allreduce {

// Whether these GPUs are there, and alike.
core::Status check_gpus(const std::vector<int>& gpus);

WorkerHello worker_facts(int gpu, int nccl_version);

}  // namespace assay::allreduce
