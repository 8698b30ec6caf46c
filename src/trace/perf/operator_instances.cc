#include "trace/perf/operator_instances.h"

#include <algorithm>
#include <array>

namespace assay::trace {
namespace {

// Forward and backward operators of these families share a sheet.
constexpr std::array<std::string_view, 4> kSingleSheets = {"GEMM", "BinaryElementwise",
                                                           "UnaryElementwise", "Normalization"};

bool is_single(std::string_view sheet) {
  return std::find(kSingleSheets.begin(), kSingleSheets.end(), sheet) != kSingleSheets.end();
}

void append_counted(const RankAnalysis& rank, NodeId node, std::vector<std::uint32_t>& events) {
  for (const std::uint32_t event : rank.tree.gpu_events_below(node))
    if (rank.counted[event]) events.push_back(event);
}

class Collector {
 public:
  Collector(const RankAnalysis& rank, Estimates& estimates)
      : rank_(rank), estimates_(estimates), links_(rank) {}

  RooflineSheets sheets() {
    for (const NodeId node : modelled_operators())
      collect(node);
    return std::move(sheets_);
  }

 private:
  // In the order of the file.
  std::vector<NodeId> modelled_operators() {
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < rank_.tree.node_count(); ++node) {
      const OperatorFamily* family = estimates_.family(node);
      if (family != nullptr && family->model != nullptr) nodes.push_back(node);
    }
    std::sort(nodes.begin(), nodes.end(), [this](NodeId a, NodeId b) {
      return node_uid(*rank_.trace, rank_.tree.nodes[a]) <
             node_uid(*rank_.trace, rank_.tree.nodes[b]);
    });
    return nodes;
  }

  void collect(NodeId node) {
    const OperatorFamily& family = *estimates_.family(node);
    const std::string sheet = family.sheet;
    std::vector<std::uint32_t> events = counted_below(rank_, node);
    const bool has_backward = !is_single(sheet) && has_unmodelled_backward(node, family);
    std::vector<std::uint32_t> backward_events;
    if (has_backward) backward_events = counted_backward(rank_, links_, node);
    if (!shown(events) && !(has_backward && shown(backward_events))) return;
    const Estimate* estimate = estimates_.find(node, events);
    if (estimate == nullptr) return;
    const char* suffix = is_single(sheet) ? "" : family.is_backward() ? "_bwd" : "_fwd";
    add(sheet + suffix, node, std::move(events), *estimate, estimate->work);
    if (has_backward && estimate->backward_work)
      add(sheet + "_bwd", node, std::move(backward_events), *estimate, *estimate->backward_work);
  }

  // The public tool also shows calls that launched nothing.
  [[nodiscard]] bool shown(const std::vector<std::uint32_t>& events) const {
    return !events.empty() || rank_.options.compat == Compat::kTraceLens;
  }

  // Where backward operators have models of their own, they stand for themselves.
  bool has_unmodelled_backward(NodeId node, const OperatorFamily& family) {
    const NodeId backward = links_.backward_of(node);
    if (backward == kNoNode) return false;
    for (NodeId below = backward; below < rank_.tree.nodes[backward].subtree_end; ++below) {
      const OperatorFamily* other = estimates_.family(below);
      if (other != nullptr && other->model != nullptr && other->is_backward() &&
          std::string_view(other->sheet) == family.sheet)
        return false;
    }
    return true;
  }

  void add(const std::string& sheet,
           NodeId node,
           std::vector<std::uint32_t> events,
           const Estimate& estimate,
           const Work& work) {
    if (!shown(events)) return;
    const double kernel_us = rank_.busy_us(events);
    sheets_[sheet].push_back({node, std::move(events), kernel_us, &estimate, &work});
  }

  const RankAnalysis& rank_;
  Estimates& estimates_;
  BackwardLinks links_;
  RooflineSheets sheets_;
};

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

RooflineSheets roofline_sheets(const RankAnalysis& rank, Estimates& estimates) {
  return Collector(rank, estimates).sheets();
}

}  // namespace assay::trace
