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

bool names_modules(const model::Trace& trace) {
  return std::any_of(trace.python_calls.begin(), trace.python_calls.end(), is_module) ||
         std::any_of(trace.cpu_ops.begin(), trace.cpu_ops.end(),
                     [](const model::CpuOp& op) { return op.module_hierarchy != 0; });
}

std::vector<std::string> names_in_hierarchy(std::string_view hierarchy) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < hierarchy.size();) {
    const std::size_t end = std::min(hierarchy.find('.', begin), hierarchy.size());
    std::string_view frame = hierarchy.substr(begin, end - begin);
    begin = end + 1;
    frame = frame.substr(0, frame.find("::"));
    // Operators and functions have no class; SELF is the module around.
    const std::size_t open = frame.find('(');
    if (open == std::string_view::npos || open == 0 || frame.back() != ')' ||
        frame.starts_with("SELF("))
      continue;
    names.emplace_back(frame.starts_with("TOP(") ? frame.substr(open + 1, frame.size() - open - 2)
                                                 : frame);
  }
  return names;
}

std::vector<std::string> names_in_stack(std::string_view stack) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < stack.size();) {
    const std::size_t end = std::min(stack.find(';', begin), stack.size());
    std::string_view name = stack.substr(begin, end - begin);
    begin = end + 1;
    while (name.starts_with(' '))
      name.remove_prefix(1);
    if (!name.empty()) names.emplace_back(name);
  }
  std::reverse(names.begin(), names.end());
  return names;
}

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
  if (calls.empty()) {
    add_recorded();
    return;
  }
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
  const std::string name(this->name(module));
  return m.parent == kNoModule ? name : path(m.parent) + '/' + name;
}

std::string ModuleTree::class_path(ModuleId module) const {
  const Module& m = modules_[module];
  const std::string name(module_class(this->name(module)));
  return m.parent == kNoModule ? name : class_path(m.parent) + '/' + name;
}

ModuleId ModuleTree::at(NodeId node) const {
  if (!recorded_.empty()) return recorded_[node];
  const std::int64_t time_ns = node_start_ns(trace_, tree_.nodes[node]);
  const auto found = stretches_.find(node_track(trace_, tree_.nodes[node]));
  if (found == stretches_.end()) return kNoModule;
  const auto& stretches = found->second;
  const auto after =
      std::upper_bound(stretches.begin(), stretches.end(), time_ns,
                       [](std::int64_t time, const Stretch& s) { return time < s.start_ns; });
  return after == stretches.begin() ? kNoModule : std::prev(after)->module;
}

// What an operator does not say of itself, its caller says.
void ModuleTree::add_recorded() {
  const bool modules = level_ == PythonLevel::kModules;
  std::map<model::TextId, ModuleId> places;
  std::vector<ModuleId> recorded(tree_.node_count(), kNoModule);
  for (NodeId id = 0; id < tree_.node_count(); ++id) {
    const Node& node = tree_.nodes[id];
    if (node.parent != kNoNode) recorded[id] = recorded[node.parent];
    if (!tree_.is_cpu_op(id)) continue;
    const model::CpuOp& op = trace_.cpu_ops[node.index];
    const model::TextId said = modules ? op.module_hierarchy : op.call_stack;
    if (said == 0) continue;
    const auto [place, inserted] = places.try_emplace(said, kNoModule);
    if (inserted)
      place->second = place_of(modules ? names_in_hierarchy(trace_.text(said))
                                       : names_in_stack(trace_.text(said)));
    recorded[id] = place->second;
  }
  if (!modules_.empty()) recorded_ = std::move(recorded);
}

ModuleId ModuleTree::place_of(std::span<const std::string> names) {
  ModuleId place = kNoModule;
  for (const std::string& name : names)
    place = module_in(place, names_.intern(name));
  return place;
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
