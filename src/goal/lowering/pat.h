// PAT (parallel aggregated trees), NCCL 2.23 and later with one GPU a node: what a rank gives to
// AllGather reaches the others over a binomial tree, all ranks' trees alike and at the same time.
// The rank at distance s gets it over the lowest set bit of s, so far distances come first and
// carry little; parts that are due at once and small go as one message. ReduceScatter is the same
// backwards.
//
// Not as in NCCL: a rank here sends all messages of a step before it receives any, while NCCL's
// warps do both at once; and its 8 buffers are those of a channel rather than of each peer.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/lowering.h"

namespace assay::goal {

// A rank sends `parts` ranks' parts to the rank at `distance`, and gets as many from the one at
// that distance on the other side.
struct PatStep {
  std::int32_t distance = 1;
  std::uint64_t parts = 1;
};

struct PatPlan {
  std::vector<PatStep> steps;       // of AllGather, for every chunk
  std::uint64_t message_parts = 1;  // that one message joins at the most
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
