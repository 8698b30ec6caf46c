// Calls of modelled operators with the GPU work they launched.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/analysis.h"
#include "trace/backward_links.h"
#include "trace/perf/estimates.h"

namespace assay::trace {

struct OperatorInstance {
  NodeId node = kNoNode;                  // whose arguments tell the work
  std::vector<std::uint32_t> gpu_events;  // counted work, in launch order
  double kernel_us = 0;                   // their union
  const Estimate* estimate = nullptr;     // never null
  const Work* work = nullptr;             // the estimate's forward or backward work; never null
};

// Counted GPU events below a node, in launch order.
std::vector<std::uint32_t> counted_below(const RankAnalysis& rank, NodeId node);

// What autograd ran backward for the operators in a subtree.
std::vector<std::uint32_t> counted_backward(const RankAnalysis& rank,
                                            const BackwardLinks& links,
                                            NodeId node);

}  // namespace assay::trace
