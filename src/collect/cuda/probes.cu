#include "collect/cuda/probes.h"

namespace assay::collect {
namespace {

// This is much longer than a step of the timer, which is at most 1 us.
constexpr long long kCycles = 200000;

__device__ long long nanoseconds() {
  long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void count(ClockCount* result) {
  const long long begin_ns = nanoseconds();
  const long long begin = clock64();
  long long now = begin;
  while (now - begin < kCycles)
    now = clock64();
  result->nanoseconds = nanoseconds() - begin_ns;
  result->cycles = now - begin;
}

__global__ void nothing() {}

}  // namespace

cudaError_t count_cycles(ClockCount* result, cudaStream_t stream) {
  count<<<1, 1, 0, stream>>>(result);
  return cudaGetLastError();
}

cudaError_t launch_nothing(cudaStream_t stream) {
  nothing<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace assay::collect
