#include <algorithm>
#include <map>
#include <set>

#include "core/text.h"
#include "trace/modules.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

using model::Better;

struct StackTime {
  double kernel_us = 0;
  std::int64_t kernels = 0;

  void add(double us, std::int64_t count) {
    kernel_us += us;
    kernels += count;
  }
};

std::map<ModuleId, StackTime> times_by_stack(const RankAnalysis& rank, const ModuleTree& stacks) {
  std::map<ModuleId, StackTime> times;
  for (std::size_t event = 0; event < rank.counted.size(); ++event) {
    const NodeId call = rank.tree.launched_by[event];
    if (rank.counted[event] && call != kNoNode)
      times[stacks.of_node(call)].add(rank.gpu_event_us(event), 1);
  }
  return times;
}

// Returns the names of the functions, the innermost first.
std::vector<std::string> functions_of(const ModuleTree& stacks, ModuleId stack) {
  std::vector<std::string> names;
  for (; stack != kNoModule; stack = stacks.modules()[stack].parent)
    names.emplace_back(stacks.name(stack));
  return names;
}

template <class Key>
std::vector<std::pair<Key, StackTime>> longest_first(const std::map<Key, StackTime>& times) {
  std::vector<std::pair<Key, StackTime>> order(times.begin(), times.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.kernel_us > b.second.kernel_us;
  });
  return order;
}

model::Table stacks_table(const ModuleTree& stacks,
                          const std::map<ModuleId, StackTime>& times,
                          double all_us) {
  model::Table table{
      "call_stacks",
      "Time of kernels by the Python functions that launched them; those of backward "
      "count for the forward pass",
      {{"function", "", Better::kNeither, "the innermost"},
       {"time ms", "ms", Better::kLower, "kernels, summed"},
       {"percent", "%"},
       {"kernels"},
       {"depth"},
       {"call stack", "", Better::kNeither, "the innermost first"}}};
  for (const auto& [stack, time] : longest_first(times)) {
    const std::vector<std::string> names = functions_of(stacks, stack);
    table.add_row({names.empty() ? std::string("(none)") : names.front(), time.kernel_us / 1000,
                   percent(time.kernel_us, all_us), time.kernels,
                   static_cast<std::int64_t>(names.size()), core::join(names, "; ")});
  }
  return table;
}

model::Table functions_table(const ModuleTree& stacks,
                             const std::map<ModuleId, StackTime>& times,
                             double all_us) {
  std::map<std::string, StackTime> own;
  std::map<std::string, StackTime> total;
  for (const auto& [stack, time] : times) {
    const std::vector<std::string> names = functions_of(stacks, stack);
    if (names.empty()) continue;
    own[names.front()].add(time.kernel_us, time.kernels);
    // A function that calls itself counts once.
    for (const std::string& name : std::set(names.begin(), names.end()))
      total[name].add(time.kernel_us, time.kernels);
  }
  model::Table table{"python_functions",
                     "Time of kernels by Python function",
                     {{"function"},
                      {"total ms", "ms", Better::kLower, "with the functions that it calls"},
                      {"percent", "%", Better::kNeither, "of the time of all kernels"},
                      {"own ms", "ms", Better::kLower, "kernels launched by no function inside"},
                      {"kernels"}}};
  for (const auto& [name, time] : longest_first(total))
    table.add_row({name, time.kernel_us / 1000, percent(time.kernel_us, all_us),
                   own[name].kernel_us / 1000, time.kernels});
  return table;
}

std::vector<model::Table> build_call_stacks(const RankAnalysis& rank) {
  if (!rank.options.call_stacks) return {};
  const ModuleTree stacks(*rank.trace, rank.tree, PythonLevel::kFunctions);
  if (stacks.empty()) return {};
  const std::map<ModuleId, StackTime> times = times_by_stack(rank, stacks);
  double all_us = 0;
  for (const auto& [stack, time] : times)
    all_us += time.kernel_us;
  return {stacks_table(stacks, times, all_us), functions_table(stacks, times, all_us)};
}

const SheetSpec kCallStacks{.name = "call_stacks", .position = 360, .build = build_call_stacks};
ASSAY_REGISTER(SheetSpec, kCallStacks);

}  // namespace
}  // namespace assay::trace
