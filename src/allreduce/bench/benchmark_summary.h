// What people read of a benchmark: the plan before it, the line during it, the tables after it.
#pragma once

#include <string>

#include "allreduce/bench/benchmark.h"
#include "model/table.h"

namespace assay::allreduce {

// How many cells and measurements there are along each axis, and about how long they take.
model::Book plan_summary(const BenchmarkOptions& options);

// "TP 2: 120 of 600 cells, 9.8 cells/s, 49 s left, 2 failures"
std::string progress_text(const BenchmarkStanding& standing);

model::Book benchmark_summary(const BenchmarkResult& result);

// The same with short names of the fusions, which a terminal would cut so that none can be told
// from another: "RMS+FP8".
model::Book for_terminal(model::Book summary);

}  // namespace assay::allreduce
