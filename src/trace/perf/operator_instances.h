// Calls of modelled operators with the GPU work they launched, as the roofline sheets show them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/analysis.h"
#include "trace/backward_links.h"
#include "trace/perf/estimates.h"

namespace assay::trace {

struct OperatorInstance {
  NodeId node = kNoNode;                  // the call whose arguments tell the work
  std::vector<std::uint32_t> gpu_events;  // what it, or its backward operator, launched
  double kernel_us = 0;                   // their union
  const Estimate* estimate = nullptr;     // never null
  const Work* work = nullptr;             // the estimate's forward or backward work; never null
};

// Instances in the order of the file by the name of their sheet: "GEMM", "SDPA_fwd", "SDPA_bwd".
// An operator without counted GPU work does not appear, except in compat mode.
using RooflineSheets = std::map<std::string, std::vector<OperatorInstance>, std::less<>>;
RooflineSheets roofline_sheets(const RankAnalysis& rank, Estimates& estimates);

// Counted GPU events below a node, in launch order.
std::vector<std::uint32_t> counted_below(const RankAnalysis& rank, NodeId node);

// Counted GPU events of what autograd ran backward for the operators below a node.
std::vector<std::uint32_t> counted_backward(const RankAnalysis& rank,
                                            const BackwardLinks& links,
                                            NodeId node);

}  // namespace assay::trace
