// Makes benchmarks for tests from latency models: alpha + beta * bytes, with noise.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "allreduce/timings.h"

namespace assay::allreduce {

struct LatencyModel {
  Strategy strategy = Strategy::kNccl;
  double alpha_us = 0;
  double us_per_byte = 0;

  [[nodiscard]] double time_us(std::int64_t bytes) const {
    return alpha_us + us_per_byte * static_cast<double>(bytes);
  }
};

// Models like those of 8 H200: one-shot is best below about 0.4 MB, two-shot push up to about 7 MB,
// then NCCL.
inline std::vector<LatencyModel> hopper_models() {
  return {{Strategy::kOneshot, 2.7, 7.0 / 243e3},
          {Strategy::kTwoshotPush, 7.0, 1.75 / 200e3},
          {Strategy::kTwoshot, 8.5, 1.75 / 210e3},
          {Strategy::kNccl, 22.0, 1.75 / 280e3}};
}

struct Sweep {
  std::vector<int> world_sizes = {8};
  std::vector<Fusion> fusions = {Fusion::kNone};
  std::vector<std::int64_t> hidden_sizes = {128, 256, 512, 1024, 2048, 4096, 8192};
  std::vector<std::int64_t> num_tokens = {1,   2,   4,    8,    16,   32,   64,   128,
                                          256, 512, 1024, 2048, 4096, 8192, 16384};
  std::vector<LatencyModel> models = hopper_models();
  double noise = 0;  // standard deviation as a fraction of the time; the interval is ±1.96 of it
  std::uint64_t seed = 1;
};

inline Measurement measured(const Cell& cell, Strategy strategy, double time_us, double half = 0) {
  Measurement measurement{.cell = cell, .strategy = strategy, .time_us = time_us, .samples = 10};
  if (half > 0) {
    measurement.low_us = time_us / (1 + half);
    measurement.high_us = time_us * (1 + half);
    measurement.min_us = measurement.low_us;
  }
  return measurement;
}

inline Benchmark synthetic(const Sweep& sweep) {
  std::mt19937_64 random(sweep.seed);
  std::normal_distribution<double> scatter(0, 1);
  Benchmark benchmark{.sm_version = 90, .measurements = {}};
  for (const int world_size : sweep.world_sizes) {
    for (const Fusion fusion : sweep.fusions) {
      for (const std::int64_t hidden_size : sweep.hidden_sizes) {
        for (const std::int64_t tokens : sweep.num_tokens) {
          const Cell cell{.world_size = world_size,
                          .fusion = fusion,
                          .hidden_size = hidden_size,
                          .num_tokens = tokens};
          for (const LatencyModel& model : sweep.models) {
            const double time =
                model.time_us(cell.size_bytes()) * std::exp(sweep.noise * scatter(random));
            benchmark.measurements.push_back(
                measured(cell, model.strategy, time, 1.96 * sweep.noise));
          }
        }
      }
    }
  }
  return benchmark;
}

}  // namespace assay::allreduce
