// Finds the sends and receives of different ranks that are one message.
//
// NCCL delivers the messages from one rank to another in the order in which they were sent. So the
// k-th send of a rank to another belongs to the k-th receive there, of the same process group. The
// other rank is the recorded one or, in a group of two, the one that remains. Where the counts or
// the sizes differ, as where several sends and receives share a kernel, none of them is paired.
//
// Collectives tell how far clocks are apart. Two ranks that none links must have ended some message
// together, or else their clocks may be apart, and their messages are not paired either.
#pragma once

#include <vector>

#include "trace/collectives/match.h"

namespace assay::trace::collectives {

struct Pair {
  Member send;
  Member receive;
  // Tells whether a send of this kind, between these two ranks, ever left before its receive began:
  // NCCL buffers small messages, so that their senders wait for nobody. Large ones fill the
  // buffers, and their senders wait for the receivers.
  bool is_buffered = false;
};

// Returns the pairs in the order of their senders. `clocks` are the collectives by which the clocks
// were compared. The time is linear in the number of events, but for sorting.
std::vector<Pair> pair_messages(const Recording& recording, const Matching& clocks);

}  // namespace assay::trace::collectives
