// Which kernel of a process ran which plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "goal/inputs/recorded_process.h"
#include "model/job.h"

namespace assay::goal {

struct KernelRun {
  std::int64_t start_ns = 0;  // CLOCK_REALTIME
  std::int64_t end_ns = 0;
  std::uint32_t stream = 0;  // CUPTI's number
  std::int32_t device = -1;
};

struct PlanRun {
  std::uint32_t number = 0;  // of the plan's record; 0 for operations outside any plan
  std::uint32_t communicator = 0;
  const model::recording::KernelLaunch* launch = nullptr;
  const KernelRun* kernel = nullptr;
  std::int64_t call_ns = 0;  // when it was launched or, unless that is known, enqueued
};

struct KernelMatch {
  std::vector<KernelRun> kernels;    // of NCCL, in the order of the file
  std::vector<PlanRun> plans;        // by number
  std::uint64_t by_correlation = 0;  // plans
  std::uint64_t by_order = 0;
  std::uint64_t unused_kernels = 0;  // that no plan claimed

  [[nodiscard]] const PlanRun* find(std::uint32_t plan) const;
};

// Plans find their kernel by the launch that encloses it; those that do not, such as all of NCCL
// 2.27, by the order in which plans were made and kernels launched.
KernelMatch match_kernels(const RecordedProcess& process);

}  // namespace assay::goal
