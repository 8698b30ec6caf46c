// Comparing outputs with float64 references: a kernel of each family writes samples here.
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
  double bound = 0;  // of their difference
  std::int64_t at = 0;
};

// The element that sample `i` looks at: each if there are few, else the first, the last and others
// without an order.
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

// Waits for the kernel that wrote the first `count` samples. `columns` of the output's rows, for
// saying where the worst is.
core::Result<Accuracy> accuracy_of_samples(Gpu& gpu,
                                           std::int64_t count,
                                           std::int64_t columns,
                                           const std::string& output);

// The worse of two, with all that was compared.
Accuracy worse(const Accuracy& a, const Accuracy& b);

}  // namespace assay::collect
