#include <algorithm>
#include <map>
#include <tuple>

#include "core/statistics.h"
#include "trace/arguments.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;
using model::Table;

// Everything that distinguishes two kinds of call.
using LauncherKey = std::tuple<model::TextId, std::string_view, CallIdentity, bool>;

struct LauncherGroup {
  LauncherKey key;
  std::vector<const Launcher*> launchers;
  double direct_us = 0;
  std::uint32_t first_uid = 0;
};

std::vector<LauncherGroup> group_launchers(const RankAnalysis& rank,
                                           const std::vector<OperatorRow>& rows) {
  const model::Trace& trace = *rank.trace;
  CallIdentities identities(trace);
  std::map<LauncherKey, std::size_t> index;
  std::vector<LauncherGroup> groups;
  for (const OperatorRow& row : rows) {
    const Node& node = rank.tree.nodes[row.launcher->node];
    LauncherKey key{row.name, row.category, identities.of(node),
                    rank.recomputes(row.launcher->node)};
    const auto [found, inserted] = index.try_emplace(key, groups.size());
    const std::uint32_t uid = row.launcher->is_replayed
                                  ? trace.gpu_events[row.launcher->kernels.front()].uid
                                  : node_uid(trace, node);
    if (inserted) groups.push_back({std::move(key), {}, 0, uid});
    LauncherGroup& group = groups[found->second];
    group.launchers.push_back(row.launcher);
    group.direct_us += row.launcher->direct_us;
    group.first_uid = std::min(group.first_uid, uid);
  }
  std::sort(groups.begin(), groups.end(), [](const LauncherGroup& a, const LauncherGroup& b) {
    return a.direct_us != b.direct_us ? a.direct_us > b.direct_us : a.first_uid < b.first_uid;
  });
  return groups;
}

std::vector<model::Column> unique_args_columns(const RankAnalysis& rank) {
  std::vector<model::Column> result{{"name"},          {"op category"},   {"process_name"},
                                    {"process_label"}, {"thread_name"},   {"Input Dims"},
                                    {"Input type"},    {"Input Strides"}, {"Concrete Inputs"}};
  if (rank.options.detect_recompute) result.push_back(recompute_column());
  result.push_back({"operation_count"});
  for (const char* statistic : {"mean", "median", "std", "min", "max", "sum"}) {
    for (const char* scope : {"direct", "subtree"}) {
      result.push_back({std::string("total_") + scope + "_kernel_time_" + statistic, "µs",
                        Better::kLower, "std is that of a sample"});
    }
  }
  for (const char* name : {"ex_UID", "kernel_details_summary", "trunc_kernel_details"}) {
    result.push_back({name});
  }
  result.push_back({"Percentage (%)", "%"});
  result.push_back({"Cumulative Percentage (%)", "%"});
  return result;
}

void add_identity(const RankAnalysis& rank, const LauncherGroup& group, std::vector<Cell>& row) {
  const auto& [name, category, identity, recomputes] = group.key;
  const Node& first = rank.tree.nodes[group.launchers.front()->node];
  row.emplace_back(std::string(rank.trace->text(name)));
  row.emplace_back(std::string(category));
  add_track_names(rank, node_track(*rank.trace, first), row);
  add_argument_texts(*rank.trace, identity.arguments, Brackets::kTuple, row);
  if (rank.options.detect_recompute) row.emplace_back(recomputes);
  row.emplace_back(static_cast<std::int64_t>(group.launchers.size()));
}

void add_times(const LauncherGroup& group, std::vector<Cell>& row) {
  std::vector<double> direct;
  std::vector<double> subtree;
  for (const Launcher* launcher : group.launchers) {
    direct.push_back(launcher->direct_us);
    subtree.push_back(launcher->subtree_us);
  }
  for (const auto statistic : {core::mean, core::median, core::sample_deviation, core::minimum,
                               core::maximum, core::sum}) {
    row.emplace_back(statistic(direct));
    row.emplace_back(statistic(subtree));
  }
}

std::vector<Table> build_ops_unique_args(const RankAnalysis& rank) {
  const std::vector<LauncherGroup> groups = group_launchers(rank, operator_rows(rank));
  if (groups.empty()) return {};
  Table table{"ops_unique_args", "GPU time by operator and arguments", unique_args_columns(rank)};
  double total = 0;
  for (const LauncherGroup& group : groups)
    total += group.direct_us;
  double cumulative = 0;
  for (const LauncherGroup& group : groups) {
    std::vector<Cell> row;
    add_identity(rank, group, row);
    add_times(group, row);
    std::vector<GpuWorkList> instances;
    for (const Launcher* launcher : group.launchers)
      instances.emplace_back(launcher->kernels);
    KernelDetails details = kernel_details(rank, instances);
    cumulative += percent(group.direct_us, total);
    row.emplace_back(static_cast<std::int64_t>(group.first_uid));
    row.emplace_back(std::move(details.full));
    row.emplace_back(std::move(details.truncated));
    row.emplace_back(percent(group.direct_us, total));
    row.emplace_back(cumulative);
    table.add_row(std::move(row));
  }
  return {std::move(table)};
}

const SheetSpec kOpsUniqueArgs{
    .name = "ops_unique_args", .position = 300, .build = build_ops_unique_args};
ASSAY_REGISTER(SheetSpec, kOpsUniqueArgs);

}  // namespace
}  // namespace assay::trace
