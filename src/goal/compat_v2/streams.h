// What a GPU does in the order in which the public generator writes it: chains of launches.
#pragma once

#include <cstdint>
#include <vector>

#include "model/job.h"

namespace assay::goal::compat_v2 {

// An operation, or all of a group that the program opened with ncclGroupStart().
struct Launch {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool grouped = false;
  std::uint32_t first = 0;  // GpuPlan::operations[first … +count)
  std::uint32_t count = 0;
};

struct GpuPlan {
  std::vector<std::uint32_t> contexts;       // by index into JobGpu::operations
  std::vector<std::uint32_t> operations;     // indices into JobGpu::operations
  std::vector<std::vector<Launch>> streams;  // in the order of the file
};

GpuPlan plan_gpu(const model::JobGpu& gpu);

// As one chain. `mergeable`: no two launches of different streams overlap.
bool mergeable(const GpuPlan& plan);
void merge_streams(GpuPlan& plan);

}  // namespace assay::goal::compat_v2
