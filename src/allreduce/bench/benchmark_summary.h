// The texts of a benchmark for people: the plan before it, the progress line during it and the
// tables after it.
#pragma once

#include <string>

#include "allreduce/bench/benchmark.h"
#include "model/table.h"

namespace assay::allreduce {

// Returns the numbers of cells and measurements for each TP size, launch, data type and fusion,
// with an estimate of the total time.
model::Book plan_summary(const BenchmarkOptions& options);

// For example "TP 2: 120 of 600 cells, 9.8 cells/s, 49 s left, 2 failures".
std::string progress_text(const BenchmarkStanding& standing);

model::Book benchmark_summary(const BenchmarkResult& result);

// Shortens the names of the fusions, for example to "RMS+FP8". A terminal would cut the full names
// so that they all look the same.
model::Book for_terminal(model::Book summary);

}  // namespace assay::allreduce
