#include "trace/call_tree.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "core/text.h"

namespace assay::trace {
namespace {

// Because the clock is coarse, a call may seem to end this much after its caller.
constexpr std::int64_t kToleranceNs = 1000;

struct Call {
  std::int64_t start_ns;
  std::int64_t end_ns;
  model::TrackId track;
  std::uint32_t uid;
  Node::Kind kind;
  std::uint32_t index;
};

template <class Record>
void add_calls(const std::vector<Record>& records, Node::Kind kind, std::vector<Call>& calls) {
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    calls.push_back({r.start_ns, r.start_ns + r.duration_ns, r.track, r.uid, kind, i});
  }
}

std::vector<Call> sorted_calls(const model::Trace& trace) {
  std::vector<Call> calls;
  calls.reserve(trace.cpu_ops.size() + trace.runtime_calls.size());
  add_calls(trace.cpu_ops, Node::Kind::kCpuOp, calls);
  add_calls(trace.runtime_calls, Node::Kind::kRuntimeCall, calls);
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return std::tie(a.track, a.start_ns, a.uid) < std::tie(b.track, b.start_ns, b.uid);
  });
  return calls;
}

// Nests the calls by their times, one thread after the other.
class Nesting {
 public:
  explicit Nesting(CallTree& tree) : tree_(tree) {}

  void add(const Call& call) {
    if (call.track != track_) close_all();
    track_ = call.track;
    while (!open_.empty() && call.start_ns >= open_.back().end_ns)
      close_last();
    if (!open_.empty() && call.end_ns > open_.back().end_ns) {
      const bool within_tolerance = open_.back().end_ns - call.start_ns < kToleranceNs;
      if (!within_tolerance || open_.size() < 2) return add_root(call);
      close_last();
    }
    const NodeId parent = open_.empty() ? kNoNode : open_.back().node;
    open_.push_back({append(call, parent), call.end_ns});
  }

  void finish() {
    close_all();
    for (const Call& call : roots_) {
      const NodeId node = append(call, kNoNode);
      tree_.nodes[node].subtree_end = node + 1;
    }
    tree_.bleeding_calls = static_cast<std::int64_t>(roots_.size());
    tree_.nodes.emplace_back();
  }

 private:
  struct Open {
    NodeId node;
    std::int64_t end_ns;
  };

  NodeId append(const Call& call, NodeId parent) {
    const auto id = static_cast<NodeId>(tree_.nodes.size());
    tree_.nodes.push_back({call.kind, call.index, parent, 0, 0});
    return id;
  }

  // A call that overlaps its caller's end is no child of anything, but its kernels still count.
  void add_root(const Call& call) { roots_.push_back(call); }

  void close_last() {
    tree_.nodes[open_.back().node].subtree_end = static_cast<NodeId>(tree_.nodes.size());
    open_.pop_back();
  }

  void close_all() {
    while (!open_.empty())
      close_last();
  }

  CallTree& tree_;
  std::vector<Open> open_;
  std::vector<Call> roots_;
  model::TrackId track_ = 0;
};

// Recent profilers link by correlation id, older ROCm profilers by "External id".
bool links_by_correlation(const model::Trace& trace) {
  for (const model::RuntimeCall& call : trace.runtime_calls) {
    if (core::contains_ignoring_case(trace.text(call.name), "launch")) {
      return call.correlation >= 0 || call.external_id < 0;
    }
  }
  return true;
}

template <class Record>
std::int64_t link_key(const Record& record, bool by_correlation) {
  return by_correlation ? record.correlation : record.external_id;
}

std::unordered_map<std::int64_t, NodeId> launching_nodes(const model::Trace& trace,
                                                         CallTree& tree,
                                                         bool by_correlation) {
  std::unordered_map<std::int64_t, NodeId> nodes;
  nodes.reserve(trace.runtime_calls.size());
  for (NodeId id = 0; id < tree.node_count(); ++id) {
    const Node& node = tree.nodes[id];
    if (node.kind != Node::Kind::kRuntimeCall) continue;
    const std::int64_t key = link_key(trace.runtime_calls[node.index], by_correlation);
    if (key < 0) continue;
    const auto [found, inserted] = nodes.insert_or_assign(key, id);
    if (!inserted && by_correlation) ++tree.duplicate_correlations;
  }
  return nodes;
}

// Orders the GPU events by the node that launched them, with a counting sort over the nodes.
void order_gpu_events(CallTree& tree) {
  std::vector<std::uint32_t> next(tree.nodes.size() + 1, 0);
  for (const NodeId node : tree.launched_by) {
    if (node != kNoNode) ++next[node + 1];
  }
  for (std::size_t i = 1; i < next.size(); ++i)
    next[i] += next[i - 1];
  for (std::size_t i = 0; i < tree.nodes.size(); ++i)
    tree.nodes[i].first_gpu_event = next[i];
  tree.gpu_events.resize(next.back());
  for (std::uint32_t event = 0; event < tree.launched_by.size(); ++event) {
    const NodeId node = tree.launched_by[event];
    if (node != kNoNode) tree.gpu_events[next[node]++] = event;
  }
}

// The public tool links a call to GPU work only where the trace has both ends of the arrow between
// them, and to the last such work. Graph launches need no arrow.
class ArrowLinks {
 public:
  ArrowLinks(const model::Trace& trace, bool by_correlation) : trace_(trace) {
    for (const model::LaunchFlow& flow : *trace.launch_flows) {
      Arrow& arrow = arrows_[flow.id];
      if (flow.end == model::LaunchFlow::End::kStart)
        arrow.starts = true;
      else
        arrow.finish = flow.track;
    }
    for (std::uint32_t i = 0; i < trace.gpu_events.size(); ++i) {
      const auto arrow = arrows_.find(link_key(trace.gpu_events[i], by_correlation));
      if (arrow != arrows_.end() && arrow->second.finish == trace.gpu_events[i].track)
        arrow->second.event = i;
    }
  }

  [[nodiscard]] bool links(const model::RuntimeCall& call,
                           std::int64_t key,
                           std::uint32_t i) const {
    const std::string_view name = trace_.text(call.name);
    if (name == "cudaGraphLaunch" || name == "hipGraphLaunch") return true;
    const auto arrow = arrows_.find(key);
    return arrow != arrows_.end() && arrow->second.starts && arrow->second.event == i;
  }

 private:
  struct Arrow {
    bool starts = false;
    std::optional<model::TrackId> finish = std::nullopt;
    std::optional<std::uint32_t> event = std::nullopt;
  };

  const model::Trace& trace_;
  std::unordered_map<std::int64_t, Arrow> arrows_;
};

void link_gpu_events(const model::Trace& trace, CallTree& tree) {
  const bool by_correlation = links_by_correlation(trace);
  const auto nodes = launching_nodes(trace, tree, by_correlation);
  std::optional<ArrowLinks> arrows;
  if (trace.launch_flows) arrows.emplace(trace, by_correlation);
  tree.launched_by.reserve(trace.gpu_events.size());
  for (std::uint32_t i = 0; i < trace.gpu_events.size(); ++i) {
    const std::int64_t key = link_key(trace.gpu_events[i], by_correlation);
    const auto found = nodes.find(key);
    const bool linked =
        found != nodes.end() &&
        (!arrows || arrows->links(trace.runtime_calls[tree.nodes[found->second].index], key, i));
    tree.launched_by.push_back(linked ? found->second : kNoNode);
  }
  order_gpu_events(tree);
}

constexpr std::string_view kWrapper = "autograd::engine::evaluate_function";

bool forward_less(const BackwardLink& a, const BackwardLink& b) {
  return a.forward < b.forward;
}

bool backward_less(const BackwardLink& a, const BackwardLink& b) {
  return a.backward < b.backward;
}

class Linker {
 public:
  Linker(const model::Trace& trace, const CallTree& tree) : trace_(trace), tree_(tree) {}

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

  // If several wrappers have one sequence number, the first in the file is taken.
  void note_wrapper(NodeId node) {
    if (!trace_.text(op(node).name).starts_with(kWrapper)) return;
    NodeId& backward = links_[op(node).sequence].backward;
    if (backward == kNoNode || op(node).uid < op(backward).uid) backward = node;
  }

  // The operator that starts last is the innermost of those on other threads.
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

CallTree build_call_tree(const model::Trace& trace) {
  CallTree tree;
  const std::vector<Call> calls = sorted_calls(trace);
  tree.nodes.reserve(calls.size() + 1);
  Nesting nesting(tree);
  for (const Call& call : calls)
    nesting.add(call);
  nesting.finish();
  link_gpu_events(trace, tree);
  return tree;
}

NodeId launcher_of(const model::Trace& trace, const CallTree& tree, NodeId call) {
  for (NodeId node = tree.nodes[call].parent; node != kNoNode; node = tree.nodes[node].parent) {
    if (tree.is_cpu_op(node) && trace.text(node_name(trace, tree.nodes[node])) != "execute") {
      return node;
    }
  }
  return call;
}

bool is_graph_replay(const model::Trace& trace, const CallTree& tree, NodeId call) {
  const std::string_view name = trace.text(node_name(trace, tree.nodes[call]));
  return name.find("GraphLaunch") != std::string_view::npos;
}

BackwardLinks::BackwardLinks(const model::Trace& trace, const CallTree& tree) {
  by_forward_ = Linker(trace, tree).links();
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
