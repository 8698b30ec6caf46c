// Estimates how far the clocks of hosts are apart, and how they drift, from the collectives that
// all ranks leave together.
//
// The ranks of one node share a clock, so a node has one offset. Small differences between its
// ranks are noise, which is shown but not removed; large ones say that they are on several hosts.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/collectives/clock_fit.h"
#include "trace/collectives/match.h"

namespace assay::trace::collectives {

// A positive offset means that the clock is ahead of the first node's.
struct NodeOffset {
  int node = 0;
  ClockFit clock = {};   // in time since the recording's origin
  double spread_us = 0;  // median absolute deviation over the collectives
  std::int64_t samples = 0;
  bool applied = false;  // whether it is removed: it exceeds its own spread
};

// Returns one offset for each node, by node. A node that shares no collective with the first is
// reached through nodes that do.
std::vector<NodeOffset> estimate_node_offsets(const Recording& recording, const Matching& matching);

// The same for ranks, as if each were a node: `node` is its position in the recording. Only those
// are `applied` that no shared clock can have.
std::vector<NodeOffset> estimate_rank_offsets(const Recording& recording, const Matching& matching);

// Moves every event to the first node's clock by the offsets that are `applied`, and adds them to
// `removed`, by position of the rank.
void remove_node_offsets(Recording& recording,
                         const std::vector<NodeOffset>& offsets,
                         std::vector<ClockFit>& removed);
// The same by offsets of ranks.
void remove_rank_offsets(Recording& recording,
                         const std::vector<NodeOffset>& offsets,
                         std::vector<ClockFit>& removed);

struct RankOffset {
  int rank = 0;
  int node = 0;
  double offset_us = 0;  // median of this rank's ends less the median ends of all ranks
  double spread_us = 0;
  std::int64_t samples = 0;
  double removed_us = 0;  // what was taken off in the middle of the collectives
  double drift_ppm = 0;   // what was taken off besides, in microseconds a second
  bool applied = false;
};

// `matching` must be that of the corrected recording. The result includes the removed offsets.
std::vector<RankOffset> rank_offsets(const Recording& recording,
                                     const Matching& matching,
                                     const std::vector<ClockFit>& removed);

}  // namespace assay::trace::collectives
