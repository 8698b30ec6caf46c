// What people read of a benchmark: the plan before it, the line during it, the tables after it.
#pragma once

#include <string>

#include "allreduce/bench/benchmark.h"
#include "model/table.h"

namespace assay::allreduce {

// How many cells and measurements there are along each axis, and about how long they take.
model::Book plan_summary(const BenchmarkOptions& options);

// "120 of 600 cells, 9.8 cells/s, 49 s left, 2 failures"
std::string progress_text(const BenchmarkStanding& standing);

model::Book benchmark_summary(const BenchmarkResult& result);

}  // namespace assay::allreduce
