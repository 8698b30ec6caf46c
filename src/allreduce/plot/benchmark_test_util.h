// Small benchmarks for the tests in this folder.
#pragma once

#include "allreduce/timings.h"

namespace assay::allreduce {

inline Measurement measured(Strategy strategy,
                            std::int64_t hidden_size,
                            std::int64_t num_tokens,
                            double time_us,
                            Fusion fusion = Fusion::kNone) {
  Measurement one;
  one.cell = {
      .world_size = 4, .fusion = fusion, .hidden_size = hidden_size, .num_tokens = num_tokens};
  one.strategy = strategy;
  one.time_us = time_us;
  return one;
}

// Two hidden sizes by two token counts. In the cell with the smallest of both, AUTO is the fastest,
// which must not count, and TWOSHOT hung.
inline Benchmark small_benchmark() {
  Benchmark benchmark{.sm_version = 90, .measurements = {}, .warnings = {}};
  benchmark.measurements = {
      measured(Strategy::kNccl, 128, 1, 10),         measured(Strategy::kOneshot, 128, 1, 4),
      measured(Strategy::kNccl, 2880, 1, 10),        measured(Strategy::kOneshot, 2880, 1, 8),
      measured(Strategy::kNccl, 128, 100, 10),       measured(Strategy::kOneshot, 128, 100, 20),
      measured(Strategy::kNccl, 2880, 100, 10),      measured(Strategy::kOneshot, 2880, 100, 11.5),
      measured(Strategy::kAuto, 128, 1, 3),          measured(Strategy::kAuto, 2880, 100, 10.5),
      measured(Strategy::kTwoshot, 128, 1, kUnknown)};
  benchmark.measurements.back().outcome = Outcome::kHang;
  return benchmark;
}

}  // namespace assay::allreduce
