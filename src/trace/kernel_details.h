// Statistics of the GPU work of repeated launches, as the texts of the kernel_details columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/trace.h"

namespace assay::trace {

// The GPU work of one instance of an operator: indices into Trace::gpu_events, in launch order.
using GpuWorkList = std::span<const std::uint32_t>;

// Python's repr of a list of dicts, one for each position in launch order; ascending by total
// duration, then name. Times are microseconds, deviations those of a population.
struct KernelDetails {
  std::string full;       // name, stream, count, total, mean, median, deviation, min, max
  std::string truncated;  // name cut to 64 bytes, stream, mean with two decimals
  // Instances that launched another number of kernels than the first; not in the statistics.
  std::int64_t left_out = 0;
};

KernelDetails kernel_details(const model::Trace& trace, std::span<const GpuWorkList> instances);

}  // namespace assay::trace
