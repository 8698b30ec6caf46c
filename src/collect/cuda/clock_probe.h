// The SM clock of right now: NVML's figure is some 150 ms old on an H200.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace assay::collect {

struct ClockCount {
  std::int64_t cycles = 0;
  std::int64_t nanoseconds = 0;
};

// Enqueues a thread that counts for some 100 us and writes to `count`, which the device can reach.
cudaError_t count_cycles(ClockCount* count, cudaStream_t stream);

}  // namespace assay::collect
