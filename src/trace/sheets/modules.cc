#include "trace/modules.h"

#include <algorithm>
#include <map>

#include "trace/recompute.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

using model::Better;

// Times of kernels, summed.
struct ModuleTimes {
  double forward_us = 0;
  double backward_us = 0;
  double recompute_us = 0;
  std::int64_t kernels = 0;

  [[nodiscard]] double all_us() const { return forward_us + backward_us + recompute_us; }

  void add(const ModuleTimes& other) {
    forward_us += other.forward_us;
    backward_us += other.backward_us;
    recompute_us += other.recompute_us;
    kernels += other.kernels;
  }
};

struct TimedModules {
  std::vector<ModuleTimes> own;    // of the innermost module, for each module
  std::vector<ModuleTimes> total;  // with the modules inside
  ModuleTimes outside;             // of no module
};

double& time_in(ModuleTimes& times, Pass pass) {
  switch (pass) {
    case Pass::kBackward:
      return times.backward_us;
    case Pass::kRecompute:
      return times.recompute_us;
    case Pass::kForward:
      break;
  }
  return times.forward_us;
}

TimedModules timed(const RankAnalysis& rank, const ModuleTree& tree) {
  TimedModules times;
  times.own.resize(tree.modules().size());
  const std::vector<Pass> passes = node_passes(*rank.trace, rank.tree);
  for (std::size_t event = 0; event < rank.counted.size(); ++event) {
    const NodeId call = rank.tree.launched_by[event];
    if (!rank.counted[event] || call == kNoNode) continue;
    const ModuleId module = tree.of_node(call);
    ModuleTimes& innermost = module == kNoModule ? times.outside : times.own[module];
    time_in(innermost, passes[call]) += rank.gpu_event_us(event);
    ++innermost.kernels;
  }
  times.total = times.own;
  for (std::size_t i = times.total.size(); i-- > 0;) {
    const ModuleId parent = tree.modules()[i].parent;
    if (parent != kNoModule) times.total[parent].add(times.total[i]);
  }
  return times;
}

double time_of_all(const TimedModules& times) {
  double all = times.outside.all_us();
  for (const ModuleTimes& own : times.own)
    all += own.all_us();
  return all;
}

// Returns the modules as a reader expects a tree: each before what is inside of it, in the order of
// their first calls.
std::vector<ModuleId> in_tree_order(const ModuleTree& tree) {
  std::vector<std::vector<ModuleId>> children(tree.modules().size() + 1);
  for (ModuleId i = 0; i < tree.modules().size(); ++i) {
    const ModuleId parent = tree.modules()[i].parent;
    children[parent == kNoModule ? tree.modules().size() : parent].push_back(i);
  }
  for (std::vector<ModuleId>& inside : children)
    std::stable_sort(inside.begin(), inside.end(), [&](ModuleId a, ModuleId b) {
      return tree.modules()[a].first_ns < tree.modules()[b].first_ns;
    });
  std::vector<ModuleId> order;
  std::vector<ModuleId> waiting(children.back().rbegin(), children.back().rend());
  while (!waiting.empty()) {
    order.push_back(waiting.back());
    waiting.pop_back();
    const std::vector<ModuleId>& inside = children[order.back()];
    waiting.insert(waiting.end(), inside.rbegin(), inside.rend());
  }
  return order;
}

void append_times(const ModuleTimes& own,
                  const ModuleTimes& total,
                  double all_us,
                  std::vector<model::Cell>& row) {
  row.emplace_back(own.kernels);
  row.emplace_back(own.all_us() / 1000);
  row.emplace_back(total.all_us() / 1000);
  row.emplace_back(percent(total.all_us(), all_us));
  row.emplace_back(total.forward_us / 1000);
  row.emplace_back(total.backward_us / 1000);
  row.emplace_back(total.recompute_us / 1000);
}

void append_time_columns(std::vector<model::Column>& columns) {
  columns.push_back({"kernels", "", Better::kNeither, "of no module inside"});
  columns.push_back({"own ms", "ms", Better::kLower, "kernels of no module inside, summed"});
  columns.push_back({"total ms", "ms", Better::kLower, "with the modules inside"});
  columns.push_back({"percent", "%", Better::kNeither, "total ms, of the time of all kernels"});
  columns.push_back({"forward ms", "ms", Better::kLower, "of total ms; of the forward pass"});
  columns.push_back({"backward ms", "ms", Better::kLower});
  columns.push_back({"recompute ms", "ms", Better::kLower, "forward again, during backward"});
}

model::Table modules_table(const ModuleTree& tree, const TimedModules& times, double all_us) {
  model::Table table{"modules",
                     "Time of kernels by module (nn.Module): each before those inside of it",
                     {{"path"}, {"depth"}, {"module"}, {"calls"}}};
  append_time_columns(table.columns);
  for (const ModuleId id : in_tree_order(tree)) {
    const std::string path = tree.path(id);
    const Module& module = tree.modules()[id];
    std::vector<model::Cell> row{path, std::int64_t{module.depth},
                                 path.substr(path.find_last_of('/') + 1), module.calls};
    append_times(times.own[id], times.total[id], all_us, row);
    table.add_row(std::move(row));
  }
  if (times.outside.kernels > 0) {
    std::vector<model::Cell> row{std::string("(no module)"), model::Cell{}, model::Cell{},
                                 model::Cell{}};
    append_times(times.outside, times.outside, all_us, row);
    table.add_row(std::move(row));
  }
  return table;
}

struct ClassTimes {
  int depth = 0;
  std::int64_t modules = 0;
  std::int64_t calls = 0;
  ModuleTimes own;
  ModuleTimes total;
};

model::Table classes_table(const ModuleTree& tree, const TimedModules& times, double all_us) {
  std::map<std::string, ClassTimes> classes;
  for (ModuleId id = 0; id < tree.modules().size(); ++id) {
    ClassTimes& sum = classes[tree.class_path(id)];
    sum.depth = tree.modules()[id].depth;
    ++sum.modules;
    sum.calls += tree.modules()[id].calls;
    sum.own.add(times.own[id]);
    sum.total.add(times.total[id]);
  }
  std::vector<std::pair<std::string, ClassTimes>> order(classes.begin(), classes.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    if (a.second.depth != b.second.depth) return a.second.depth < b.second.depth;
    return a.second.total.all_us() > b.second.total.all_us();
  });
  model::Table table{"modules_by_class",
                     "Time of kernels by class of module, the outermost first, then by time",
                     {{"depth"}, {"path"}, {"modules"}, {"calls"}}};
  append_time_columns(table.columns);
  for (const auto& [path, sum] : order) {
    std::vector<model::Cell> row{std::int64_t{sum.depth}, path, sum.modules, sum.calls};
    append_times(sum.own, sum.total, all_us, row);
    table.add_row(std::move(row));
  }
  return table;
}

std::vector<model::Table> build_modules(const RankAnalysis& rank) {
  if (rank.options.compat != Compat::kNone) return {};
  if (!names_modules(*rank.trace)) return {};
  const ModuleTree tree(*rank.trace, rank.tree);
  if (tree.empty()) return {};
  const TimedModules times = timed(rank, tree);
  const double all_us = time_of_all(times);
  std::vector<model::Table> tables;
  tables.push_back(modules_table(tree, times, all_us));
  tables.push_back(classes_table(tree, times, all_us));
  return tables;
}

const SheetSpec kModules{.name = "modules", .position = 350, .build = build_modules};
ASSAY_REGISTER(SheetSpec, kModules);

}  // namespace
}  // namespace assay::trace
