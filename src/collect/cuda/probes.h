// Kernels that measure the GPU itself: its clock, and the cost of a launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace assay::collect {

struct ClockCount {
  std::int64_t cycles = 0;
  std::int64_t nanoseconds = 0;
};

// Enqueues a thread that counts the cycles of about 100 us and writes to `count`, which the device
// can reach. This gives the current SM clock; NVML's figure is about 150 ms old on an H200.
cudaError_t count_cycles(ClockCount* count, cudaStream_t stream);

// Launches a kernel that does nothing.
cudaError_t launch_nothing(cudaStream_t stream);

}  // namespace assay::collect
