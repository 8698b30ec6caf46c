// Ends a job whose operations are costs. Nothing is queued: a group ends when all its members have
// started, later where their NICs are short of time (shared_nics.h), and what follows starts when
// all that it waits for has ended.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/group_schedule.h"
#include "simulate/launch_rank.h"

namespace assay::simulate {

struct GroupOutcome {
  std::vector<std::int64_t> finish_ns;  // by rank: replica after replica of the cell's GPUs
  std::vector<Span> spans;              // by group; of those in each replica, that of the first
  std::uint64_t launches = 0;
  // Of the time of the first replica's ranks, the share in which a rank is in a group.
  double share_in_groups = 0;
};

// Fails when launches wait for each other in a circle.
core::Result<GroupOutcome> simulate_groups(const model::GroupSchedule& schedule);

}  // namespace assay::simulate
