#include "trace/perf/operator_instances.h"

namespace assay::trace {
namespace {

void append_counted(const RankAnalysis& rank, NodeId node, std::vector<std::uint32_t>& events) {
  for (const std::uint32_t event : rank.tree.gpu_events_below(node))
    if (rank.counted[event]) events.push_back(event);
}

}  // namespace

std::vector<std::uint32_t> counted_below(const RankAnalysis& rank, NodeId node) {
  std::vector<std::uint32_t> events;
  append_counted(rank, node, events);
  return events;
}

std::vector<std::uint32_t> counted_backward(const RankAnalysis& rank,
                                            const BackwardLinks& links,
                                            NodeId node) {
  std::vector<std::uint32_t> events;
  for (const BackwardLink& link : links.below(rank.tree, node))
    append_counted(rank, link.backward, events);
  return events;
}

}  // namespace assay::trace
