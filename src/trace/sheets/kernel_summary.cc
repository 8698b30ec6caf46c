#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "trace/call_tree.h"
#include "trace/perf/kernel_category.h"
#include "trace/perf/operator_family.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Table;

struct KernelKey {
  std::string_view category;
  model::TextId launcher = 0;  // the empty text for kernels without a launch record
  model::TextId kernel = 0;
  std::int32_t stream = 0;

  auto operator<=>(const KernelKey&) const = default;
};

struct Durations {
  std::int64_t sum_ns = 0;  // whole, so that equal sums are equal whatever the order of their terms
  double min_us = 0;
  double max_us = 0;
  std::int64_t count = 0;

  void add(std::int64_t ns) {
    const double us = static_cast<double>(ns) / 1000;
    min_us = count == 0 ? us : std::min(min_us, us);
    max_us = count == 0 ? us : std::max(max_us, us);
    sum_ns += ns;
    ++count;
  }

  [[nodiscard]] double sum_us() const { return static_cast<double>(sum_ns) / 1000; }
};

// The public tool counts every kernel here, whatever it leaves out elsewhere.
bool is_shown(const RankAnalysis& rank, std::size_t event) {
  if (rank.trace->gpu_events[event].kind != model::GpuEventKind::kKernel) return false;
  return rank.options.compat == Compat::kTraceLens || rank.counted[event];
}

// The categories of the launching nodes, as in the operator sheets.
class Categories {
 public:
  explicit Categories(const RankAnalysis& rank) : rank_(rank) {
    for (const OperatorRow& row : operator_rows(rank)) {
      categories_.emplace(row.launcher->node, row.category);
    }
  }

  // The category of a replayed kernel, which no recorded operator launched.
  std::string_view replayed(model::TextId kernel) {
    const auto [found, inserted] = replayed_.try_emplace(kernel);
    if (inserted) {
      const std::string_view category = kernel_category(rank_.trace->text(kernel));
      found->second = category == "other" ? "graph" : category;
    }
    return found->second;
  }

  std::string_view category_of(NodeId launcher, model::TextId kernel) {
    const auto [found, inserted] = categories_.try_emplace(launcher);
    if (inserted || !rank_.tree.is_cpu_op(launcher)) {
      found->second = without_row(launcher, kernel);
    }
    return found->second;
  }

 private:
  // Collectives have no row in the operator sheets. Graph launches and other runtime calls are
  // distinguished only here.
  [[nodiscard]] std::string_view without_row(NodeId launcher, model::TextId kernel) const {
    const model::Trace& trace = *rank_.trace;
    const std::string_view name = trace.text(node_name(trace, rank_.tree.nodes[launcher]));
    if (rank_.tree.is_cpu_op(launcher)) {
      return op_category(name, trace.text(kernel), rank_.options.compat);
    }
    return name.find("GraphLaunch") != std::string_view::npos ? "graph" : "runtime";
  }

  const RankAnalysis& rank_;
  std::unordered_map<NodeId, std::string_view> categories_;
  std::unordered_map<model::TextId, std::string_view> replayed_;  // by kernel name
};

std::string_view category_of(const RankAnalysis& rank,
                             Categories& categories,
                             NodeId launcher,
                             std::size_t event) {
  const model::TextId kernel = rank.trace->gpu_events[event].name;
  if (rank.options.compat == Compat::kNone) {
    const bool is_replayed = is_graph_replay(*rank.trace, rank.tree, rank.tree.launched_by[event]);
    const bool communicates = rank.gpu_work[event] == GpuWork::kCommunication;
    if (communicates && (is_replayed || !rank.tree.is_cpu_op(launcher))) return "communication";
    if (is_replayed) return categories.replayed(kernel);
  }
  return categories.category_of(launcher, kernel);
}

KernelKey kernel_key(const RankAnalysis& rank, Categories& categories, std::size_t event) {
  const model::Trace& trace = *rank.trace;
  const model::GpuEvent& gpu = trace.gpu_events[event];
  const NodeId call = rank.tree.launched_by[event];
  if (call == kNoNode) return {{}, 0, gpu.name, gpu.stream};
  const NodeId launcher = launcher_of(trace, rank.tree, call);
  const std::string_view category = category_of(rank, categories, launcher, event);
  if (hides_operators(rank)) return {category, 0, gpu.name, gpu.stream};
  return {category, node_name(trace, rank.tree.nodes[launcher]), gpu.name, gpu.stream};
}

enum class LauncherColumn { kShow, kHide };

std::vector<model::Column> kernel_columns(LauncherColumn launcher) {
  std::vector<model::Column> result{{"Parent op category"}};
  if (launcher == LauncherColumn::kShow) result.push_back({"Parent cpu_op"});
  result.push_back({"Kernel name"});
  result.push_back({"Kernel stream"});
  for (const char* statistic : {"sum", "count", "mean", "min", "max"}) {
    const bool time = std::string_view(statistic) != "count";
    result.push_back({std::string("Kernel duration (µs)_") + statistic, time ? "µs" : "",
                      time ? Better::kLower : Better::kNeither});
  }
  result.push_back({"Percent of kernels time (%)", "%"});
  result.push_back({"Percent of total time (%)", "%"});
  return result;
}

std::vector<std::pair<KernelKey, Durations>> durations_by_key(const RankAnalysis& rank,
                                                              Categories& categories) {
  std::map<KernelKey, Durations> groups;
  for (std::size_t event = 0; event < rank.trace->gpu_events.size(); ++event) {
    if (!is_shown(rank, event)) continue;
    groups[kernel_key(rank, categories, event)].add(rank.gpu_event_ns(event));
  }
  std::vector<std::pair<KernelKey, Durations>> sorted(groups.begin(), groups.end());
  const auto texts = [&](const KernelKey& key) {
    const std::string_view launcher = rank.trace->text(key.launcher);
    return std::tuple(key.category.empty(), key.category, launcher.empty(), launcher,
                      rank.trace->text(key.kernel), key.stream);
  };
  std::sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    if (a.second.sum_ns != b.second.sum_ns) return a.second.sum_ns > b.second.sum_ns;
    return texts(a.first) < texts(b.first);
  });
  return sorted;
}

std::vector<Table> build_kernel_summary(const RankAnalysis& rank) {
  Categories categories(rank);
  const auto groups = durations_by_key(rank, categories);
  if (groups.empty()) return {};
  double total = 0;
  for (const auto& [key, durations] : groups)
    total += durations.sum_us();
  const auto launcher = hides_operators(rank) ? LauncherColumn::kHide : LauncherColumn::kShow;
  Table table{"kernel_summary", "GPU time by kernel and launching operator",
              kernel_columns(launcher)};
  for (const auto& [key, durations] : groups) {
    std::vector<model::Cell> row{std::string(key.category)};
    if (launcher == LauncherColumn::kShow)
      row.emplace_back(std::string(rank.trace->text(key.launcher)));
    row.emplace_back(std::string(rank.trace->text(key.kernel)));
    row.emplace_back(std::int64_t{key.stream});
    row.emplace_back(durations.sum_us());
    row.emplace_back(durations.count);
    row.emplace_back(durations.sum_us() / static_cast<double>(durations.count));
    row.emplace_back(durations.min_us);
    row.emplace_back(durations.max_us);
    row.emplace_back(percent(durations.sum_us(), total));
    // Where nothing counts, as without launch records in compat mode, there is no such time.
    row.push_back(rank.total_time_us > 0
                      ? model::Cell(percent(durations.sum_us(), rank.total_time_us))
                      : model::Cell());
    table.add_row(std::move(row));
  }
  return {std::move(table)};
}

const SheetSpec kKernelSummary{
    .name = "kernel_summary", .position = 700, .build = build_kernel_summary};
ASSAY_REGISTER(SheetSpec, kKernelSummary);

}  // namespace
}  // namespace assay::trace
