// The times of a benchmark by cell: repeated runs joined, intervals completed, failures left out.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "allreduce/measurement.h"

namespace assay::allreduce {

// Half of the 95 % interval of a time whose file gives none, as a part of the time. The public
// tool's files hold one median of ten each.
inline constexpr double kDefaultNoise = 0.02;

struct Timing {
  Strategy strategy = Strategy::kNccl;
  double time_us = 0;
  double low_us = 0;  // 95 % interval
  double high_us = 0;
  std::int64_t runs = 1;
};

// Fastest first; equally fast ones in the order of kStrategies. A cell where nothing succeeded is
// there and empty.
using Timings = std::map<Cell, std::vector<Timing>>;

// All that succeeded, AUTO too. Several measurements of one strategy in one cell are repeated
// runs: their geometric mean, with an interval from the larger of the scatter between the runs and
// that within them.
Timings timings_of(const Benchmark& benchmark, Launch launch, double noise = kDefaultNoise);

// The same cells with these strategies only, never AUTO.
Timings restricted(const Timings& timings, std::span<const Strategy> strategies);

// Into the order of Timings.
void sort_by_time(std::vector<Timing>& timings);

// Nothing when the strategy was not timed there.
const Timing* find_timing(std::span<const Timing> timings, Strategy strategy);

// Between two sizes of one strategy, on the straight line over logarithms; `part` of the way, by
// the logarithm of the bytes, from the smaller (0) to the larger (1).
Timing interpolated(const Timing& smaller, const Timing& larger, double part);

// By how much `slower` takes longer than `faster` beyond noise, as a natural logarithm: 0 when the
// gain is below `tie` or the intervals overlap, and growing steadily from there.
double loss_beyond_noise(const Timing& slower, const Timing& faster, double tie);

}  // namespace assay::allreduce
