// PAT (parallel aggregated trees), NCCL 2.23 and later with one GPU per node. What a rank gives to
// AllGather reaches the others over a binomial tree; the trees of all ranks are alike and run at
// the same time. The rank at distance s receives it over the lowest set bit of s, so far distances
// come first and carry little. Parts that are due at the same time and are small travel as one
// message. ReduceScatter is the same, backwards.
//
// Two things differ from NCCL. A rank here sends all messages of a step before it receives any,
// while NCCL's warps do both at once. NCCL's 8 buffers belong to each peer, here to the channel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "goal/lowering.h"

namespace assay::goal {

// A rank sends the parts of `parts` ranks to the rank at `distance`, and receives as many from the
// rank at that distance on the other side.
struct PatStep {
  std::int32_t distance = 1;
  std::uint64_t parts = 1;
};

struct PatPlan {
  std::vector<PatStep> steps;       // for AllGather; the same for every chunk
  std::uint64_t message_parts = 1;  // the most parts that one message joins
};

PatPlan plan_pat(const ChannelTask& task);

// Calls body(parts) for the messages of a step, one after another.
template <class Body>
void for_each_message(const PatPlan& plan, const PatStep& step, Body body) {
  for (std::uint64_t sent = 0; sent < step.parts; sent += plan.message_parts) {
    body(std::min(plan.message_parts, step.parts - sent));
  }
}

}  // namespace assay::goal
