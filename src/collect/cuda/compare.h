// The comparison of outputs with float64 references. Each family has a kernel that writes samples.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

inline constexpr std::int64_t kMostSamples = 1024;

struct Sample {
  double value = 0;
  double expected = 0;
  double bound = 0;  // the largest allowed difference
  std::int64_t at = 0;
};

// Returns the element that sample `i` compares. If there are few elements, every one is compared;
// otherwise the first, the last, and others in no particular order.
__host__ __device__ inline std::int64_t sampled(std::int64_t i, std::int64_t count) {
  if (count <= kMostSamples) return i;
  if (i == 0) return 0;
  if (i == 1) return count - 1;
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27U;
  return static_cast<std::int64_t>(x % static_cast<std::uint64_t>(count));
}

inline std::int64_t samples_of(std::int64_t count) {
  return count < kMostSamples ? count : kMostSamples;
}

class Gpu;

// Waits for the kernel that wrote the first `count` samples, and returns the worst. `columns` is
// the length of the output's rows, with which the result says where the worst is.
core::Result<Accuracy> accuracy_of_samples(Gpu& gpu,
                                           std::int64_t count,
                                           std::int64_t columns,
                                           const std::string& output);

// Returns the worse of two, with the number of all comparisons.
Accuracy worse(const Accuracy& a, const Accuracy& b);

}  // namespace assay::collect
