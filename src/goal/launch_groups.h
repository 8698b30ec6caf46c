// Launches that exchange data with each other, directly or through others.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/resolve.h"
#include "model/job.h"

namespace assay::goal {

struct LaunchId {
  std::uint32_t gpu = 0;
  std::uint32_t launch = 0;  // GpuCalls::launches
};

// Returns the groups in the order of their first launch. A computation is a group of its own.
std::vector<std::vector<LaunchId>> launch_groups(const Resolved& resolved);

// Returns the properties that distinguish groups: for each GPU the shapes, functions and peers of
// its operations.
std::vector<std::uint64_t> signature(const Resolved& resolved,
                                     const std::vector<LaunchId>& launches);

// Returns a job of these launches alone, in which all start at 0.
model::Job job_of(const Resolved& resolved, const std::vector<LaunchId>& launches);

}  // namespace assay::goal
