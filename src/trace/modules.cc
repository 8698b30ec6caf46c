#include "trace/modules.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "trace/python_calls.h"
#include "trace/recompute.h"

namespace assay::trace {
namespace {

using model::PythonCall;

static_assert(kNoPythonCall == kNoModule);

bool is_module(const PythonCall& call) {
  return call.kind == PythonCall::Kind::kModule;
}

// What is nested deeper counts as that around it: paths grow with their depth.
constexpr int kDeepestModule = 64;
constexpr int kDeepestFunction = 1000;  // as deep as Python goes by default

}  // namespace

std::string_view module_class(std::string_view name) {
  const std::size_t last = name.find_last_of('_');
  if (last == std::string_view::npos || last + 1 == name.size()) return name;
  const std::string_view number = name.substr(last + 1);
  return std::all_of(number.begin(), number.end(), core::is_digit) ? name.substr(0, last) : name;
}

ModuleTree::ModuleTree(const model::Trace& trace, const CallTree& tree, PythonLevel level)
    : trace_(trace), level_(level), tree_(tree), links_(trace, tree) {
  const bool modules = level == PythonLevel::kModules;
  const std::vector<const PythonCall*> calls = python_calls_in_order(
      trace, [modules](const PythonCall& call) { return !modules || is_module(call); });
  if (calls.empty()) return;
  if (modules) note_callers(calls);
  add_calls(calls);
  note_recomputed();
}

void ModuleTree::note_callers(std::span<const PythonCall* const> calls) {
  const auto enter = [this](const PythonCall& call, std::uint32_t caller) {
    if (caller != kNoPythonCall) callers_.try_emplace(call.name, caller);
    return call.name;
  };
  walk_nested(calls, enter, [](const auto&...) {});
}

void ModuleTree::add_calls(std::span<const PythonCall* const> calls) {
  const auto enter = [this](const PythonCall& call, std::uint32_t caller) {
    const ModuleId module =
        caller == kNoModule ? outermost(call.name) : module_in(caller, call.name);
    Module& called = modules_[module];
    ++called.calls;
    called.first_ns = std::min(called.first_ns, call.start_ns);
    stretches_[call.track].push_back({call.start_ns, module});
    return module;
  };
  walk_nested(calls, enter, [this](model::TrackId track, std::int64_t end_ns, ModuleId around) {
    stretches_[track].push_back({end_ns, around});
  });
}

void ModuleTree::note_recomputed() {
  const std::vector<Pass> passes = node_passes(trace_, tree_);
  for (NodeId id = 0; id < tree_.node_count(); ++id) {
    if (passes[id] != Pass::kRecompute || !tree_.is_cpu_op(id)) continue;
    const std::int64_t sequence = trace_.cpu_ops[tree_.nodes[id].index].sequence;
    if (sequence >= 0) recomputed_[sequence].push_back(id);
  }
}

// Returns the module of a call that no module makes: that in which it was the other times, if any.
ModuleId ModuleTree::outermost(model::TextId name) {
  std::vector<model::TextId> chain{name};
  while (chain.size() < kDeepestModule) {
    const auto caller = callers_.find(chain.back());
    if (caller == callers_.end()) break;
    if (std::find(chain.begin(), chain.end(), caller->second) != chain.end()) break;
    chain.push_back(caller->second);
  }
  ModuleId module = kNoModule;
  for (auto inner = chain.rbegin(); inner != chain.rend(); ++inner)
    module = module_in(module, *inner);
  return module;
}

ModuleId ModuleTree::module_in(ModuleId parent, model::TextId name) {
  const int deepest = level_ == PythonLevel::kModules ? kDeepestModule : kDeepestFunction;
  if (parent != kNoModule && modules_[parent].depth + 1 == deepest) return parent;
  const auto [found, inserted] =
      by_parent_.try_emplace({parent, name}, static_cast<ModuleId>(modules_.size()));
  if (inserted)
    modules_.push_back({name, parent, parent == kNoModule ? 0 : modules_[parent].depth + 1});
  return found->second;
}

std::string ModuleTree::path(ModuleId module) const {
  const Module& m = modules_[module];
  const std::string name(trace_.text(m.name));
  return m.parent == kNoModule ? name : path(m.parent) + '/' + name;
}

std::string ModuleTree::class_path(ModuleId module) const {
  const Module& m = modules_[module];
  const std::string name(module_class(trace_.text(m.name)));
  return m.parent == kNoModule ? name : class_path(m.parent) + '/' + name;
}

ModuleId ModuleTree::at(NodeId node) const {
  const std::int64_t time_ns = node_start_ns(trace_, tree_.nodes[node]);
  const auto found = stretches_.find(node_track(trace_, tree_.nodes[node]));
  if (found == stretches_.end()) return kNoModule;
  const auto& stretches = found->second;
  const auto after =
      std::upper_bound(stretches.begin(), stretches.end(), time_ns,
                       [](std::int64_t time, const Stretch& s) { return time < s.start_ns; });
  return after == stretches.begin() ? kNoModule : std::prev(after)->module;
}

ModuleId ModuleTree::of_node(NodeId node) const {
  const ModuleId module = at(node);
  if (module != kNoModule) return module;
  for (NodeId above = node; above != kNoNode; above = tree_.nodes[above].parent) {
    const NodeId forward = forward_of(above);
    if (forward != kNoNode) return at(forward);
  }
  return kNoModule;
}

// A forward pass that was computed again ran on the thread of backward, and right before it.
NodeId ModuleTree::forward_of(NodeId node) const {
  const NodeId linked = links_.forward_of(node);
  if (linked != kNoNode || !tree_.is_cpu_op(node)) return linked;
  const model::CpuOp& op = trace_.cpu_ops[tree_.nodes[node].index];
  const auto found = recomputed_.find(op.sequence);
  if (op.sequence < 0 || found == recomputed_.end()) return kNoNode;
  const std::vector<NodeId>& candidates = found->second;
  const auto after = std::upper_bound(candidates.begin(), candidates.end(), node);
  return after == candidates.begin() ? kNoNode : std::prev(after)[0];
}

}  // namespace assay::trace
