#include "trace/backward_links.h"

#include <algorithm>
#include <unordered_map>

namespace assay::trace {
namespace {

constexpr std::string_view kWrapper = "autograd::engine::evaluate_function";

bool forward_less(const BackwardLink& a, const BackwardLink& b) {
  return a.forward < b.forward;
}

bool backward_less(const BackwardLink& a, const BackwardLink& b) {
  return a.backward < b.backward;
}

class Linker {
 public:
  explicit Linker(const RankAnalysis& rank) : trace_(*rank.trace), tree_(rank.tree) {}

  std::vector<BackwardLink> links() {
    for_numbered_operators([this](NodeId node) { note_wrapper(node); });
    for_numbered_operators([this](NodeId node) { note_forward(node); });
    std::vector<BackwardLink> links;
    for (const auto& [sequence, link] : links_)
      if (link.forward != kNoNode) links.push_back(link);
    return links;
  }

 private:
  template <class Visit>
  void for_numbered_operators(const Visit& visit) {
    for (NodeId node = 0; node < tree_.node_count(); ++node)
      if (tree_.is_cpu_op(node) && op(node).sequence >= 0) visit(node);
  }

  [[nodiscard]] const model::CpuOp& op(NodeId node) const {
    return trace_.cpu_ops[tree_.nodes[node].index];
  }

  // The first wrapper in the file counts.
  void note_wrapper(NodeId node) {
    if (trace_.text(op(node).name).substr(0, kWrapper.size()) != kWrapper) return;
    NodeId& backward = links_[op(node).sequence].backward;
    if (backward == kNoNode || op(node).uid < op(backward).uid) backward = node;
  }

  // The last to start on another thread is the innermost.
  void note_forward(NodeId node) {
    const auto found = links_.find(op(node).sequence);
    if (found == links_.end()) return;
    BackwardLink& link = found->second;
    if (op(node).track == op(link.backward).track) return;
    if (link.forward == kNoNode || op(node).start_ns > op(link.forward).start_ns)
      link.forward = node;
  }

  const model::Trace& trace_;
  const CallTree& tree_;
  std::unordered_map<std::int64_t, BackwardLink> links_;
};

}  // namespace

BackwardLinks::BackwardLinks(const RankAnalysis& rank) {
  by_forward_ = Linker(rank).links();
  by_backward_ = by_forward_;
  std::sort(by_forward_.begin(), by_forward_.end(), forward_less);
  std::sort(by_backward_.begin(), by_backward_.end(), backward_less);
}

std::span<const BackwardLink> BackwardLinks::below(const CallTree& tree, NodeId forward) const {
  const auto first =
      std::lower_bound(by_forward_.begin(), by_forward_.end(), BackwardLink{forward}, forward_less);
  const auto last = std::lower_bound(first, by_forward_.end(),
                                     BackwardLink{tree.nodes[forward].subtree_end}, forward_less);
  return {first, last};
}

NodeId BackwardLinks::backward_of(NodeId forward) const {
  const auto found =
      std::lower_bound(by_forward_.begin(), by_forward_.end(), BackwardLink{forward}, forward_less);
  return found != by_forward_.end() && found->forward == forward ? found->backward : kNoNode;
}

NodeId BackwardLinks::forward_of(NodeId backward) const {
  const auto found = std::lower_bound(by_backward_.begin(), by_backward_.end(),
                                      BackwardLink{kNoNode, backward}, backward_less);
  return found != by_backward_.end() && found->backward == backward ? found->forward : kNoNode;
}

}  // namespace assay::trace
