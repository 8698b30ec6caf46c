// Decides how often each strategy of a cell is timed: all in turn, in random order, until the
// fastest is certain or the remaining ones are tied. Knows nothing about GPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/result.h"

namespace assay::allreduce {

struct SamplerOptions {
  double tie = 0.02;
  std::int64_t min_samples = 6;
  std::int64_t max_samples = 200;
  std::uint64_t seed = 1;
};

struct ArmSamples {
  std::vector<double> times_us;  // in the order in which they were measured
  double median_us = 0;
  // Interval of the median, from order statistics (binomial): at least 95 % from six samples on.
  double low_us = 0;
  double high_us = 0;
};

// Times `arms` strategies by calling `sample(arm)`, which returns one sample in microseconds. Every
// arm gets min_samples. After that, only the arms that may still be the fastest go on, until one is
// left, all that are left are within `tie` of the leader with intervals that show it, or
// max_samples is reached. Returns the error of the first sample that fails.
core::Result<std::vector<ArmSamples>> sample_arms(
    std::size_t arms,
    const SamplerOptions& options,
    const std::function<core::Result<double>(std::size_t arm)>& sample);

}  // namespace assay::allreduce
