// The tree of calls: who called whom, who launched which GPU work, and which backward operator
// autograd ran for which forward operator.
//
// The nodes are the CPU operators and the runtime and driver calls, in depth-first order, thread
// after thread. So the subtree of node n is the range [n, subtree_end), and the GPU work below it
// is one range of `gpu_events`: no ancestor needs a list of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/trace.h"

namespace assay::trace {

using NodeId = std::uint32_t;
constexpr NodeId kNoNode = 0xFFFFFFFF;

struct Node {
  enum class Kind : std::uint8_t { kCpuOp, kRuntimeCall };

  Kind kind = Kind::kCpuOp;
  std::uint32_t index = 0;  // into Trace::cpu_ops or Trace::runtime_calls
  NodeId parent = kNoNode;
  NodeId subtree_end = 0;
  std::uint32_t first_gpu_event = 0;  // position in CallTree::gpu_events
};

struct CallTree {
  std::vector<Node> nodes;  // ends with a sentinel, so that nodes[subtree_end] always exists
  std::vector<std::uint32_t> gpu_events;    // indices into Trace::gpu_events, by launching node
  std::vector<NodeId> launched_by;          // for each GPU event: the runtime call, or kNoNode
  std::int64_t duplicate_correlations = 0;  // calls with the correlation id of another call
  std::int64_t bleeding_calls = 0;          // calls that outlast their caller: kept as roots

  [[nodiscard]] std::size_t node_count() const { return nodes.empty() ? 0 : nodes.size() - 1; }

  // Returns the GPU events that this node and all nodes below it launched.
  [[nodiscard]] std::span<const std::uint32_t> gpu_events_below(NodeId node) const {
    const std::uint32_t first = nodes[node].first_gpu_event;
    const std::uint32_t last = nodes[nodes[node].subtree_end].first_gpu_event;
    return std::span(gpu_events).subspan(first, last - first);
  }

  [[nodiscard]] bool is_cpu_op(NodeId node) const { return nodes[node].kind == Node::Kind::kCpuOp; }
};

// Nests the calls of each thread by their times and links them to GPU work by their correlation
// ids, or by "External id" in traces whose launches have no correlation id. If the trace's launch
// flows were read, a link needs one, as in the public tool.
CallTree build_call_tree(const model::Trace& trace);

// The fields that operators and runtime calls share. They are here because every walk over the tree
// asks them of every node.
template <class Field>
auto node_field(const model::Trace& trace, const Node& node, const Field& field) {
  return node.kind == Node::Kind::kCpuOp ? field(trace.cpu_ops[node.index])
                                         : field(trace.runtime_calls[node.index]);
}

inline model::TextId node_name(const model::Trace& trace, const Node& node) {
  return node_field(trace, node, [](const auto& call) { return call.name; });
}

inline model::TrackId node_track(const model::Trace& trace, const Node& node) {
  return node_field(trace, node, [](const auto& call) { return call.track; });
}

inline std::uint32_t node_uid(const model::Trace& trace, const Node& node) {
  return node_field(trace, node, [](const auto& call) { return call.uid; });
}

inline std::int64_t node_start_ns(const model::Trace& trace, const Node& node) {
  return node_field(trace, node, [](const auto& call) { return call.start_ns; });
}

inline std::int64_t node_duration_ns(const model::Trace& trace, const Node& node) {
  return node_field(trace, node, [](const auto& call) { return call.duration_ns; });
}

// Returns the node that stands for a launching call in the operator tables: the nearest CPU
// operator above it other than "execute", or the call itself where there is none (graph launches).
NodeId launcher_of(const model::Trace& trace, const CallTree& tree, NodeId call);

// Returns whether a launching call replays a captured graph (cudaGraphLaunch, hipGraphLaunch). Its
// kernels belong to operators that ran when the graph was captured.
bool is_graph_replay(const model::Trace& trace, const CallTree& tree, NodeId call);

// Joins the wrapper "autograd::engine::evaluate_function: X" of a backward operator with the
// innermost forward operator that has the same sequence number.
struct BackwardLink {
  NodeId forward = kNoNode;
  NodeId backward = kNoNode;
};

class BackwardLinks {
 public:
  BackwardLinks(const model::Trace& trace, const CallTree& tree);

  // Returns the links of the forward operators in the subtree of `forward`.
  [[nodiscard]] std::span<const BackwardLink> below(const CallTree& tree, NodeId forward) const;

  // Both return kNoNode when there is no link.
  [[nodiscard]] NodeId backward_of(NodeId forward) const;
  [[nodiscard]] NodeId forward_of(NodeId backward) const;

 private:
  std::vector<BackwardLink> by_forward_;
  std::vector<BackwardLink> by_backward_;
};

}  // namespace assay::trace
