// The modules (nn.Module) of a model as a tree, and which of them each call works for. Traces with
// call stacks (with_stack of torch.profiler) name modules; of TorchScript, operators do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/string_pool.h"
#include "model/trace.h"
#include "trace/call_tree.h"

namespace assay::trace {

using ModuleId = std::uint32_t;
constexpr ModuleId kNoModule = 0xFFFFFFFF;

struct Module {
  model::TextId name = 0;  // see ModuleTree::name()
  ModuleId parent = kNoModule;
  int depth = 0;                                                     // 0 for the outermost
  std::int64_t calls = 0;                                            // recorded
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();  // start of the first of them
};

// What the tree is made of. kFunctions: all Python functions, modules among them, so that a place
// in the tree is a call stack. Trace::python_calls must hold them.
enum class PythonLevel { kModules, kFunctions };

// A module under two parents is two modules. One that is called from outside of its parent, as
// when backward computes a checkpointed layer again, is the module that it was the first time.
class ModuleTree {
 public:
  ModuleTree(const model::Trace& trace,
             const CallTree& tree,
             PythonLevel level = PythonLevel::kModules);

  [[nodiscard]] bool empty() const { return modules_.empty(); }

  // Parents stand before their children.
  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }

  // Returns class and number, as the profiler counts them: "Linear_3". TorchScript names a module
  // by its member: "fc1(Linear)".
  [[nodiscard]] std::string_view name(ModuleId module) const {
    const model::TextId id = modules_[module].name;
    return recorded_.empty() ? trace_.text(id) : names_.view(id);
  }

  // Returns "Model_0/Layer_3/Linear_7".
  [[nodiscard]] std::string path(ModuleId module) const;

  // Returns the path without numbers, which many modules share: "Model/Layer/Linear".
  [[nodiscard]] std::string class_path(ModuleId module) const;

  // Returns the innermost module that a node works for, kNoModule if none. A backward operator
  // works for the module of its forward operator.
  [[nodiscard]] ModuleId of_node(NodeId node) const;

 private:
  // From `start_ns` on, a thread is in this module.
  struct Stretch {
    std::int64_t start_ns = 0;
    ModuleId module = kNoModule;
  };

  void note_callers(std::span<const model::PythonCall* const> calls);
  void note_recomputed();
  void add_recorded();
  ModuleId place_of(std::span<const std::string> names);
  void add_calls(std::span<const model::PythonCall* const> calls);
  ModuleId module_in(ModuleId parent, model::TextId name);
  ModuleId outermost(model::TextId name);
  [[nodiscard]] NodeId forward_of(NodeId node) const;
  [[nodiscard]] ModuleId at(NodeId node) const;

  const model::Trace& trace_;
  PythonLevel level_;
  const CallTree& tree_;
  BackwardLinks links_;
  std::vector<Module> modules_;
  std::map<std::pair<ModuleId, model::TextId>, ModuleId> by_parent_;
  std::map<model::TextId, model::TextId> callers_;  // module → the module that first called it
  std::map<std::int64_t, std::vector<NodeId>> recomputed_;  // by sequence number, in node order
  std::map<model::TrackId, std::vector<Stretch>> stretches_;
  model::StringPool names_;         // of the modules that operators name
  std::vector<ModuleId> recorded_;  // for each node, if operators say it; else empty
};

// Returns whether a trace says anything of modules.
bool names_modules(const model::Trace& trace);

// Return the names in what an operator of TorchScript says of its module and of its call stack, the
// outermost first: "Net", "fc1(Linear)" of "TOP(Net)::forward.fc1(Linear)::forward".
std::vector<std::string> names_in_hierarchy(std::string_view hierarchy);
std::vector<std::string> names_in_stack(std::string_view stack);

// Returns a module's class: "Linear" of "Linear_3".
std::string_view module_class(std::string_view name);

}  // namespace assay::trace
