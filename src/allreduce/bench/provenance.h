// What a benchmark is measured with.
#pragma once

#include "allreduce/bench/benchmark.h"
#include "allreduce/bench/benchmark_file.h"
#include "allreduce/bench/protocol.h"

namespace assay::allreduce {

Provenance provenance_of(const BenchmarkOptions& options, int world_size, const WorkerHello& hello);

}  // namespace assay::allreduce
