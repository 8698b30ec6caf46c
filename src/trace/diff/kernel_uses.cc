#include "trace/diff/kernel_uses.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "trace/arguments.h"
#include "trace/diff/rank_waits.h"
#include "trace/modules.h"
#include "trace/recompute.h"

namespace assay::trace {
namespace {

// What is nested deeper counts for the place around it: texts of thousands of names help nobody.
constexpr int kDeepestPath = 64;
// Calls whose waits are known speak for a key if they are this share of it.
constexpr double kMostCalls = 0.9;

// The chain of operators above each node, as the number of a text that is made once.
class CallPaths {
 public:
  explicit CallPaths(const RankAnalysis& rank) : paths_{{}}, depths_{0} {
    const CallTree& tree = rank.tree;
    of_node_.reserve(tree.node_count());
    std::map<std::pair<std::uint32_t, model::TextId>, std::uint32_t> known;
    for (NodeId id = 0; id < tree.node_count(); ++id) {
      const NodeId parent = tree.nodes[id].parent;
      const std::uint32_t above = parent == kNoNode ? 0 : of_node_[parent];
      if (!tree.is_cpu_op(id) || depths_[above] == kDeepestPath) {
        of_node_.push_back(above);
        continue;
      }
      const model::TextId name = node_name(*rank.trace, tree.nodes[id]);
      const auto [found, inserted] =
          known.try_emplace({above, name}, static_cast<std::uint32_t>(paths_.size()));
      if (inserted) {
        const std::string text(rank.trace->text(name));
        paths_.push_back(paths_[above].empty() ? text : paths_[above] + '/' + text);
        depths_.push_back(depths_[above] + 1);
      }
      of_node_.push_back(found->second);
    }
  }

  [[nodiscard]] std::uint32_t number(NodeId node) const { return of_node_[node]; }

  [[nodiscard]] const std::string& text(std::uint32_t number) const { return paths_[number]; }

 private:
  std::vector<std::string> paths_;
  std::vector<int> depths_;
  std::vector<std::uint32_t> of_node_;
};

struct CallTimes {
  std::int64_t count = 0;
  double sum_us = 0;
  // Of the calls whose waits are known: the times without these.
  std::int64_t known = 0;
  double own_us = 0;
  double squares = 0;

  void add(double us, double waited_us) {
    ++count;
    sum_us += us;
    if (std::isnan(waited_us)) return;
    ++known;
    own_us += us - waited_us;
    squares += (us - waited_us) * (us - waited_us);
  }

  // A call whose like another rank lost is taken to transfer for as long as the rest.
  [[nodiscard]] double wait_us() const {
    if (!is_known()) return std::numeric_limits<double>::quiet_NaN();
    return sum_us - own_us * (static_cast<double>(count) / static_cast<double>(known));
  }

  [[nodiscard]] double deviation_us() const {
    if (known < 2 || !is_known()) return std::numeric_limits<double>::quiet_NaN();
    const auto n = static_cast<double>(known);
    return std::sqrt(std::max(0.0, squares - own_us * own_us / n) / (n - 1));
  }

 private:
  [[nodiscard]] bool is_known() const {
    return static_cast<double>(known) >= kMostCalls * static_cast<double>(count);
  }
};

using UseKey = std::pair<KernelKey, GpuWork>;
using UseTimes = std::map<UseKey, CallTimes>;

// Collects the kernels of one rank. Texts are made once for each kind of kernel, since there are
// few kinds and many kernels.
class RankUses {
 public:
  // `waits_us` are those of its GPU events.
  RankUses(const RankAnalysis& rank, const std::vector<double>& waits_us, PathKind kind)
      : rank_(rank), waits_us_(waits_us), passes_(node_passes(*rank.trace, rank.tree)) {
    if (kind == PathKind::kModules)
      modules_.emplace(*rank.trace, rank.tree);
    else
      calls_.emplace(rank);
  }

  void add_to(UseTimes& uses, const std::set<std::int64_t>& steps) {
    const auto numbers = step_numbers(rank_);
    for (std::uint32_t event = 0; event < rank_.counted.size(); ++event) {
      const bool of_steps =
          rank_.steps.empty() || (numbers[event] && steps.contains(*numbers[event]));
      if (rank_.counted[event] && of_steps)
        times_of(event, uses).add(rank_.gpu_event_us(event), waits_us_[event]);
    }
  }

 private:
  // Place, launcher's name, pass, shapes, kernel: ids where there are any.
  using Kind = std::
      tuple<std::uint32_t, model::TextId, Pass, model::TextId, std::string, model::TextId, GpuWork>;

  CallTimes& times_of(std::uint32_t event, UseTimes& uses) {
    const model::GpuEvent& gpu = rank_.trace->gpu_events[event];
    const NodeId call = rank_.tree.launched_by[event];
    const GpuWork work = rank_.gpu_work[event];
    if (call == kNoNode) {
      const KernelKey key{{}, {}, {}, std::string(rank_.trace->text(gpu.name))};
      return uses[{key, work}];
    }
    const NodeId launcher = launcher_of(*rank_.trace, rank_.tree, call);
    const model::TextId name = node_name(*rank_.trace, rank_.tree.nodes[launcher]);
    Kind kind{place_of(call),
              name,
              passes_[call],
              recorded_shapes(launcher, gpu),
              other_shapes(launcher, gpu),
              gpu.name,
              work};
    CallTimes*& times = known_[kind];
    if (times == nullptr) times = &uses[{key_of(kind), work}];
    return *times;
  }

  [[nodiscard]] std::uint32_t place_of(NodeId call) const {
    return modules_ ? modules_->of_node(call) : calls_->number(call);
  }

  [[nodiscard]] model::TextId recorded_shapes(NodeId launcher, const model::GpuEvent& gpu) const {
    if (gpu.collective >= 0 || !rank_.tree.is_cpu_op(launcher)) return 0;
    return rank_.trace->cpu_ops[rank_.tree.nodes[launcher].index].input_dims;
  }

  [[nodiscard]] std::string other_shapes(NodeId launcher, const model::GpuEvent& gpu) const {
    if (gpu.collective >= 0) {
      const auto& args = rank_.trace->collectives[static_cast<std::size_t>(gpu.collective)];
      return fmt::format("{} of {} {} in a group of {}", rank_.trace->text(args.name),
                         std::max(args.in_elements, args.out_elements),
                         rank_.trace->text(args.dtype), args.group_size);
    }
    if (rank_.tree.is_cpu_op(launcher) || gpu.grid[0] == 0) return {};
    return fmt::format("grid {} x {} x {}", gpu.grid[0], gpu.grid[1], gpu.grid[2]);
  }

  [[nodiscard]] KernelKey key_of(const Kind& kind) const {
    const auto& [place, name, pass, shapes, other, kernel, work] = kind;
    const model::Trace& trace = *rank_.trace;
    KernelKey key;
    if (!modules_)
      key.path = calls_->text(place);
    else if (place != kNoModule)
      key.path = modules_->path(place);
    key.operation = trace.text(name);
    // The names of a chain of calls tell the pass already.
    if (modules_ && pass != Pass::kForward) key.operation += fmt::format(" ({})", pass_name(pass));
    // Profilers of several versions set their spaces and ends of lines differently.
    key.shapes = shapes == 0 ? other : python_repr_json(trace.text(shapes), Brackets::kList);
    key.kernel = trace.text(kernel);
    return key;
  }

  const RankAnalysis& rank_;
  const std::vector<double>& waits_us_;
  std::vector<Pass> passes_;
  std::optional<ModuleTree> modules_;
  std::optional<CallPaths> calls_;
  std::map<Kind, CallTimes*> known_;
};

}  // namespace

PathKind common_path_kind(std::span<const RankAnalysis> baseline,
                          std::span<const RankAnalysis> test) {
  const auto names = [](const RankAnalysis& rank) { return names_modules(*rank.trace); };
  const bool all = std::all_of(baseline.begin(), baseline.end(), names) &&
                   std::all_of(test.begin(), test.end(), names);
  return all ? PathKind::kModules : PathKind::kCalls;
}

std::vector<KernelUse> kernel_uses(std::span<const RankAnalysis> ranks,
                                   PathKind kind,
                                   const std::set<std::int64_t>& steps) {
  UseTimes times;
  const std::vector<std::vector<double>> waits_us = rank_waits_us(ranks);
  std::ptrdiff_t windows = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankAnalysis& rank = ranks[r];
    RankUses(rank, waits_us[r], kind).add_to(times, steps);
    windows += rank.steps.empty()
                   ? 1
                   : std::count_if(rank.steps.begin(), rank.steps.end(),
                                   [&](const Step& step) { return steps.contains(step.number); });
  }
  std::vector<KernelUse> uses;
  uses.reserve(times.size());
  for (const auto& [key, sum] : times)
    uses.push_back({.key = key.first,
                    .work = key.second,
                    .calls = static_cast<double>(sum.count) / static_cast<double>(windows),
                    .time_us = sum.sum_us / static_cast<double>(windows),
                    .deviation_us = sum.deviation_us(),
                    .samples = sum.count,
                    .wait_us = sum.wait_us() / static_cast<double>(windows)});
  return uses;
}

}  // namespace assay::trace
