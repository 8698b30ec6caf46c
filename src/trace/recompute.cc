#include "trace/recompute.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

#include "trace/interval.h"

namespace assay::trace {
namespace {

constexpr std::string_view kBackwardWrapper = "autograd::engine::evaluate_function";

// The times during which each thread recomputes, disjoint and sorted.
using RecomputeTimes = std::map<model::TrackId, std::vector<Interval>>;

RecomputeTimes recompute_times(const model::Trace& trace) {
  RecomputeTimes times;
  for (const model::PythonCall& call : trace.python_calls)
    if (call.kind == model::PythonCall::Kind::kRecompute)
      times[call.track].push_back({call.start_ns, call.start_ns + call.duration_ns});
  for (auto& [track, intervals] : times)
    intervals = merged(std::move(intervals));
  return times;
}

bool holds(const std::vector<Interval>& intervals, std::int64_t time) {
  const auto after =
      std::upper_bound(intervals.begin(), intervals.end(), time,
                       [](std::int64_t t, const Interval& i) { return t < i.start; });
  return after != intervals.begin() && time < std::prev(after)->end;
}

class Passes {
 public:
  Passes(const model::Trace& trace, const CallTree& tree)
      : trace_(trace), tree_(tree), named_(recompute_times(trace)) {}

  // Parents stand before their children.
  std::vector<Pass> of_nodes() {
    std::vector<Pass> passes(tree_.node_count(), Pass::kForward);
    // For each node: the sequence number of the backward operator that it is part of, -1 in
    // forward.
    std::vector<std::int64_t> numbers(tree_.node_count(), -1);
    for (NodeId id = 0; id < tree_.node_count(); ++id) {
      const NodeId parent = tree_.nodes[id].parent;
      if (parent != kNoNode) {
        passes[id] = passes[parent];
        numbers[id] = numbers[parent];
      }
      if (const model::CpuOp* op = operator_of(id)) enter(*op, passes[id], numbers[id]);
      if (recomputes_by_name(id)) passes[id] = Pass::kRecompute;
    }
    return passes;
  }

 private:
  [[nodiscard]] const model::CpuOp* operator_of(NodeId id) const {
    return tree_.is_cpu_op(id) ? &trace_.cpu_ops[tree_.nodes[id].index] : nullptr;
  }

  void enter(const model::CpuOp& op, Pass& pass, std::int64_t& number) const {
    if (trace_.text(op.name).starts_with(kBackwardWrapper)) {
      pass = Pass::kBackward;
      number = op.sequence;
    } else if (pass == Pass::kBackward && named_.empty() && op.sequence >= 0 &&
               op.sequence != number) {
      pass = Pass::kRecompute;
    }
  }

  [[nodiscard]] bool recomputes_by_name(NodeId id) const {
    if (named_.empty()) return false;
    const auto times = named_.find(node_track(trace_, tree_.nodes[id]));
    return times != named_.end() && holds(times->second, node_start_ns(trace_, tree_.nodes[id]));
  }

  const model::Trace& trace_;
  const CallTree& tree_;
  RecomputeTimes named_;
};

}  // namespace

std::string_view pass_name(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return "forward";
    case Pass::kBackward:
      return "backward";
    case Pass::kRecompute:
      return "recompute";
  }
  return "";
}

std::vector<Pass> node_passes(const model::Trace& trace, const CallTree& tree) {
  return Passes(trace, tree).of_nodes();
}

}  // namespace assay::trace
