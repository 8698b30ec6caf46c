// How far the clocks of hosts are apart, seen from the collectives that all ranks leave together.
//
// Ranks of one node share a clock, so a node has one offset and what differs between its ranks is
// noise: it is shown but never removed.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/collectives/match.h"

namespace assay::trace::collectives {

// Offsets in microseconds: positive means that the clock is ahead of the first node's.
struct NodeOffset {
  int node = 0;
  double offset_us = 0;
  double spread_us = 0;  // median absolute deviation over the collectives
  std::int64_t samples = 0;
  bool applied = false;  // removed: another node, and clearer than its own spread
};

// By node. One hop or several: nodes that share no collective with the first are reached through
// those that do.
std::vector<NodeOffset> estimate_node_offsets(const Recording& recording, const Matching& matching);

// Shifts every event to the first node's clock by the offsets that are `applied`.
void remove_offsets(Recording& recording, const std::vector<NodeOffset>& offsets);

struct RankOffset {
  int rank = 0;
  int node = 0;
  double offset_us = 0;  // this rank's ends against the median of all ranks' ends
  double spread_us = 0;
  std::int64_t samples = 0;
  double removed_us = 0;  // the node's offset, when applied
  bool applied = false;
};

// `matching` must be of the corrected recording; the removed offset is added back for display.
std::vector<RankOffset> rank_offsets(const Recording& recording,
                                     const Matching& matching,
                                     const std::vector<NodeOffset>& nodes);

}  // namespace assay::trace::collectives
