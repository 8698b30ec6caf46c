#include "trace/call_tree.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "core/text.h"

namespace assay::trace {
namespace {

// A call may end this much after its caller by the clock's coarseness alone.
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

// Nests the calls of one thread after another by their times.
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

  // A call that overlaps its caller's end belongs to neither side; its kernels still count.
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

// Recent profilers link by correlation; older ROCm ones by External id.
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

// Orders the GPU events by the node that launched them: a counting sort over the nodes.
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

void link_gpu_events(const model::Trace& trace, CallTree& tree) {
  const bool by_correlation = links_by_correlation(trace);
  const auto nodes = launching_nodes(trace, tree, by_correlation);
  tree.launched_by.reserve(trace.gpu_events.size());
  for (const model::GpuEvent& event : trace.gpu_events) {
    const auto found = nodes.find(link_key(event, by_correlation));
    tree.launched_by.push_back(found == nodes.end() ? kNoNode : found->second);
  }
  order_gpu_events(tree);
}

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

model::TextId node_name(const model::Trace& trace, const Node& node) {
  return node.kind == Node::Kind::kCpuOp ? trace.cpu_ops[node.index].name
                                         : trace.runtime_calls[node.index].name;
}

model::TrackId node_track(const model::Trace& trace, const Node& node) {
  return node.kind == Node::Kind::kCpuOp ? trace.cpu_ops[node.index].track
                                         : trace.runtime_calls[node.index].track;
}

std::uint32_t node_uid(const model::Trace& trace, const Node& node) {
  return node.kind == Node::Kind::kCpuOp ? trace.cpu_ops[node.index].uid
                                         : trace.runtime_calls[node.index].uid;
}

std::int64_t node_start_ns(const model::Trace& trace, const Node& node) {
  return node.kind == Node::Kind::kCpuOp ? trace.cpu_ops[node.index].start_ns
                                         : trace.runtime_calls[node.index].start_ns;
}

std::int64_t node_duration_ns(const model::Trace& trace, const Node& node) {
  return node.kind == Node::Kind::kCpuOp ? trace.cpu_ops[node.index].duration_ns
                                         : trace.runtime_calls[node.index].duration_ns;
}

}  // namespace assay::trace
