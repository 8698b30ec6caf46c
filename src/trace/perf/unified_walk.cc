#include "trace/perf/unified_walk.h"

#include <algorithm>
#include <unordered_map>

#include "trace/call_tree.h"
#include "trace/perf/kernel_category.h"
#include "trace/perf/operator_family.h"
#include "trace/perf/operator_instances.h"

namespace assay::trace {
namespace {

class Walk {
 public:
  Walk(const RankAnalysis& rank, Estimates& estimates)
      : rank_(rank),
        trace_(*rank.trace),
        tree_(rank.tree),
        estimates_(estimates),
        links_(*rank.trace, rank.tree),
        counted_before_(counted_before()),
        modelled_before_(modelled_before()),
        covered_(rank.counted.size(), false) {}

  std::vector<UnifiedRow> rows() {
    for (NodeId node = 0; node < tree_.node_count();)
      node = visit(node);
    add_remaining_kernels();
    return std::move(rows_);
  }

 private:
  // Returns the number of counted events before each position in the tree's GPU events.
  [[nodiscard]] std::vector<std::uint32_t> counted_before() const {
    std::vector<std::uint32_t> before{0};
    before.reserve(tree_.gpu_events.size() + 1);
    for (const std::uint32_t event : tree_.gpu_events)
      before.push_back(before.back() + (rank_.counted[event] ? 1 : 0));
    return before;
  }

  // Returns, by node, the number of nodes before it that have a model and launch counted work. A
  // difference of two of these numbers is the number of such nodes in a subtree.
  std::vector<std::uint32_t> modelled_before() {
    std::vector<std::uint32_t> before(tree_.node_count() + 1, 0);
    for (NodeId node = 0; node < tree_.node_count(); ++node)
      before[node + 1] = before[node] + (estimates_.has_model(node) && has_work(node) ? 1 : 0);
    return before;
  }

  // Takes a node with its subtree and returns the node after that, or leaves the node and returns
  // its first child.
  NodeId visit(NodeId node) {
    const NodeId after = tree_.nodes[node].subtree_end;
    if (!tree_.is_cpu_op(node) || !has_work(node)) return after;
    if (estimates_.has_model(node)) {
      take_modelled(node);
      return after;
    }
    const bool model_below = modelled_before_[after] > modelled_before_[node + 1];
    if (model_below) return node + 1;
    if (take_backward(node)) return after;
    if (!launches_directly(node)) return node + 1;
    take_leaf(node);
    return after;
  }

  [[nodiscard]] bool has_work(NodeId node) const {
    const Node& begin = tree_.nodes[node];
    const Node& end = tree_.nodes[begin.subtree_end];
    return counted_before_[end.first_gpu_event] > counted_before_[begin.first_gpu_event];
  }

  [[nodiscard]] std::string_view name_of(NodeId node) const {
    return trace_.text(node_name(trace_, tree_.nodes[node]));
  }

  UnifiedRow& add(NodeId node, std::vector<std::uint32_t> events) {
    for (const std::uint32_t event : events)
      covered_[event] = true;
    UnifiedRow row{.node = node,
                   .name = std::string(name_of(node)),
                   .uid = node_uid(trace_, tree_.nodes[node]),
                   .gpu_events = std::move(events)};
    row.kernel_us = rank_.busy_us(row.gpu_events);
    rows_.push_back(std::move(row));
    return rows_.back();
  }

  void take_modelled(NodeId node) {
    UnifiedRow& row = add(node, counted_below(rank_, node));
    row.category = estimates_.family(node)->category;
    row.has_model = true;
    row.estimate = estimates_.find(node, row.gpu_events);
    if (row.estimate != nullptr) row.work = &row.estimate->work;
  }

  // Takes the child "X" of "autograd::engine::evaluate_function: X" if no other operator there is
  // named X.
  bool take_backward(NodeId node) {
    const NodeId wrapper = tree_.nodes[node].parent;
    const NodeId forward = wrapper == kNoNode ? kNoNode : links_.forward_of(wrapper);
    if (forward == kNoNode || !estimates_.has_model(forward) || !is_sole_backward(wrapper, node))
      return false;
    const Estimate* estimate = estimates_.find(forward, counted_below(rank_, forward));
    if (estimate == nullptr || !estimate->backward_work) return false;
    UnifiedRow& row = add(node, counted_below(rank_, node));
    const std::string_view category = estimates_.family(forward)->backward_category;
    row.category = category.empty() ? own_category(node) : category;
    row.has_model = true;
    row.estimate = estimate;
    row.work = &*estimate->backward_work;
    row.kernel_us = rank_.busy_us(counted_backward(rank_, links_, forward));
    return true;
  }

  bool is_sole_backward(NodeId wrapper, NodeId node) const {
    const std::string_view name = name_of(node);
    const std::string_view wrapper_name = name_of(wrapper);
    const std::size_t colon = wrapper_name.find(": ");
    if (colon == std::string_view::npos || wrapper_name.substr(colon + 2) != name) return false;
    int count = 0;
    for (NodeId below = wrapper + 1; below < tree_.nodes[wrapper].subtree_end; ++below)
      if (tree_.is_cpu_op(below) && name_of(below) == name && has_work(below)) ++count;
    return count == 1;
  }

  [[nodiscard]] bool launches_directly(NodeId node) const {
    for (NodeId child = node + 1; child < tree_.nodes[node].subtree_end;
         child = tree_.nodes[child].subtree_end)
      if (!tree_.is_cpu_op(child) && has_work(child)) return true;
    return false;
  }

  void take_leaf(NodeId node) {
    std::vector<std::uint32_t> events = counted_below(rank_, node);
    const bool communicates = std::any_of(events.begin(), events.end(), [this](std::uint32_t e) {
      return rank_.gpu_work[e] == GpuWork::kCommunication;
    });
    if (communicates) return;
    std::erase_if(events, [this](std::uint32_t e) { return is_replayed(e); });
    if (events.empty()) return;
    add(node, std::move(events)).category = own_category(node);
  }

  // Returns the category by the first kernel that the node launches itself.
  [[nodiscard]] std::string_view own_category(NodeId node) const {
    std::string_view kernel;
    for (const std::uint32_t event : tree_.gpu_events_below(node)) {
      const bool direct = launcher_of(trace_, tree_, tree_.launched_by[event]) == node;
      if (!direct || !rank_.counted[event]) continue;
      kernel = trace_.text(trace_.gpu_events[event].name);
      break;
    }
    return op_category(name_of(node), kernel, rank_.options.compat);
  }

  // Adds them in the order of the file. The public tool gives them the numbers after the last
  // event.
  void add_remaining_kernels() {
    auto next_uid = static_cast<std::uint32_t>(trace_.event_count);
    for (std::uint32_t event = 0; event < covered_.size(); ++event) {
      const NodeId call = tree_.launched_by[event];
      if (covered_[event] || !rank_.counted[event] || call == kNoNode ||
          rank_.gpu_work[event] == GpuWork::kCommunication)
        continue;
      const std::string_view kernel = trace_.text(trace_.gpu_events[event].name);
      UnifiedRow& row = add(launcher_of(trace_, tree_, call), {event});
      row.name += "->" + std::string(kernel) + " (Synthetic Op)";
      const bool compat = rank_.options.compat == Compat::kTraceLens;
      // The public tool does not look at the kernels of graphs here.
      const bool looks = !compat || tree_.is_cpu_op(row.node);
      row.category = is_replayed(event)
                         ? replayed_category(trace_.gpu_events[event].name)
                         : op_category(row.name, looks ? kernel : "", rank_.options.compat);
      if (compat) row.uid = next_uid++;
    }
  }

  // The kernels of a replayed graph have rows of their own. The public tool leaves them together.
  [[nodiscard]] bool is_replayed(std::uint32_t event) const {
    return rank_.options.compat == Compat::kNone &&
           is_graph_replay(trace_, tree_, tree_.launched_by[event]);
  }

  std::string_view replayed_category(model::TextId kernel) {
    const auto [found, inserted] = replayed_categories_.try_emplace(kernel);
    if (inserted) found->second = kernel_category(trace_.text(kernel));
    return found->second;
  }

  const RankAnalysis& rank_;
  const model::Trace& trace_;
  const CallTree& tree_;
  Estimates& estimates_;
  BackwardLinks links_;
  std::vector<std::uint32_t> counted_before_;
  std::vector<std::uint32_t> modelled_before_;
  std::vector<bool> covered_;  // for each GPU event
  std::vector<UnifiedRow> rows_;
  std::unordered_map<model::TextId, std::string_view> replayed_categories_;  // by kernel name
};

}  // namespace

std::vector<UnifiedRow> unified_rows(const RankAnalysis& rank, Estimates& estimates) {
  return Walk(rank, estimates).rows();
}

}  // namespace assay::trace
