// Tries everything that a call may ask for, without `assay`.
#pragma once

#include <cstdint>
#include <cstdio>

#include "allreduce/worker/cell.h"

namespace assay::allreduce {

struct SelfTestOptions {
  int world_size = 2;
  std::int64_t stress_calls = 0;  // mixed calls after the shapes; 0: none
  bool few_shapes = false;        // a shape of each kind, for slow tools
};

// Compares every strategy, operation, fusion, scale layout and data type with the float64
// reference, then makes mixed calls. Prints a line for each failure and the counts; an error when
// there was a failure.
core::Status run_self_test(Leader& leader, const SelfTestOptions& options, std::FILE* to);

}  // namespace assay::allreduce
