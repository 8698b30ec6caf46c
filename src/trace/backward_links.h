// Which backward operator autograd ran for which forward operator.
#pragma once

#include <span>
#include <vector>

#include "trace/analysis.h"

namespace assay::trace {

// The wrapper "autograd::engine::evaluate_function: X" of a backward operator and the innermost
// forward operator with its sequence number.
struct BackwardLink {
  NodeId forward = kNoNode;
  NodeId backward = kNoNode;
};

class BackwardLinks {
 public:
  explicit BackwardLinks(const RankAnalysis& rank);

  // Links of the forward operators in a subtree.
  [[nodiscard]] std::span<const BackwardLink> below(const CallTree& tree, NodeId forward) const;

  // kNoNode when there is none.
  [[nodiscard]] NodeId backward_of(NodeId forward) const;
  [[nodiscard]] NodeId forward_of(NodeId backward) const;

 private:
  std::vector<BackwardLink> by_forward_;
  std::vector<BackwardLink> by_backward_;
};

}  // namespace assay::trace
