// Ranks of replicas do the same, each with the ranks at the same distances from it in a circle:
// those of one replica tell the times of all.
#pragma once

#include <memory>
#include <vector>

#include "model/launch_schedule.h"
#include "simulate/launch_rank.h"
#include "simulate/network.h"

namespace assay::simulate {

// Returns the first ranks as they are at their ends, if all others repeat them; otherwise none.
// They refer to the schedule and the network.
std::vector<std::unique_ptr<LaunchRank>> run_alike(const model::LaunchSchedule& schedule,
                                                   const Network& network);

}  // namespace assay::simulate
