// Facts about the machine that the measurements are made on.
#pragma once

#include <vector>

#include "allreduce/bench/protocol.h"
#include "core/result.h"

namespace assay::allreduce {

// Checks that these GPUs exist and are alike.
core::Status check_gpus(const std::vector<int>& gpus);

WorkerHello worker_facts(int gpu, int nccl_version);

}  // namespace assay::allreduce
