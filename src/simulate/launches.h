// Runs a launch schedule under the LogGOPS model of simulate.h, with the same times to the
// nanosecond as its graph would have as a whole, in memory that grows with what runs and not with
// the graph.
//
// Messages are eager: then a rank can only be changed by another one after the shortest time of a
// message, so that ranks run apart for that long, on all processors.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/launch_schedule.h"
#include "simulate/launch_rank.h"
#include "simulate/simulate.h"

namespace assay::simulate {

struct LaunchOutcome {
  std::vector<std::int64_t> finish_ns;   // by rank: the end of its last operation
  std::vector<std::vector<Span>> spans;  // by rank, launch
  std::vector<std::array<model::NicWork, model::kNics>> nic_work;  // by rank, NIC
  std::uint64_t operations = 0;
  std::uint64_t messages = 0;

  [[nodiscard]] std::int64_t longest_ns() const;
};

// `threads`: 0 for one a processor. Fails on parameters that are no times, when a message would be
// a rendezvous, could overtake another one or takes no time, when the schedule takes longer than
// kForeverNs, and when it cannot end.
core::Result<LaunchOutcome> simulate_launches(const model::LaunchSchedule& schedule,
                                              const Options& options,
                                              unsigned threads);

}  // namespace assay::simulate
