#include <algorithm>
#include <map>
#include <tuple>

#include "core/statistics.h"
#include "trace/arguments.h"
#include "trace/kernel_details.h"
#include "trace/operator_rows.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;
using model::Table;

// Everything that tells two kinds of call apart.
using Key = std::tuple<model::TextId, std::string_view, model::TrackId, ArgumentTexts>;

struct Group {
  Key key;
  std::vector<const Launcher*> launchers;
  double direct_us = 0;
  std::uint32_t first_uid = 0;
};

std::vector<Group> grouped(const RankAnalysis& rank, const std::vector<OperatorRow>& rows) {
  const model::Trace& trace = *rank.trace;
  std::map<Key, std::size_t> index;
  std::vector<Group> groups;
  for (const OperatorRow& row : rows) {
    const Node& node = rank.tree.nodes[row.launcher->node];
    Key key{row.name, row.category, node_track(trace, node), argument_texts(trace, node)};
    const auto [found, inserted] = index.try_emplace(key, groups.size());
    const std::uint32_t uid = node_uid(trace, node);
    if (inserted) groups.push_back({std::move(key), {}, 0, uid});
    Group& group = groups[found->second];
    group.launchers.push_back(row.launcher);
    group.direct_us += row.launcher->direct_us;
    group.first_uid = std::min(group.first_uid, uid);
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.direct_us != b.direct_us ? a.direct_us > b.direct_us : a.first_uid < b.first_uid;
  });
  return groups;
}

std::vector<model::Column> columns() {
  std::vector<model::Column> result{
      {"name"},       {"op category"}, {"process_name"},  {"process_label"},   {"thread_name"},
      {"Input Dims"}, {"Input type"},  {"Input Strides"}, {"Concrete Inputs"}, {"operation_count"}};
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

Cell text_cell(std::string_view text) {
  return text.empty() ? Cell{} : Cell{std::string(text)};
}

void add_identity(const RankAnalysis& rank, const Group& group, std::vector<Cell>& row) {
  const model::Trace& trace = *rank.trace;
  const auto& [name, category, track, arguments] = group.key;
  const TrackNames names = track_names(trace, track);
  row.emplace_back(std::string(trace.text(name)));
  row.emplace_back(std::string(category));
  for (const std::string_view text : {names.process_name, names.process_label, names.thread_name}) {
    row.push_back(text_cell(text));
  }
  for (const model::TextId id :
       {arguments.dims, arguments.types, arguments.strides, arguments.concrete}) {
    row.push_back(text_cell(python_repr_json(trace.text(id), Brackets::kTuple)));
  }
  row.emplace_back(static_cast<std::int64_t>(group.launchers.size()));
}

void add_times(const Group& group, std::vector<Cell>& row) {
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

std::vector<Table> build(const RankAnalysis& rank) {
  const std::vector<Group> groups = grouped(rank, operator_rows(rank));
  if (groups.empty()) return {};
  Table table{"ops_unique_args", "GPU time by operator and arguments", columns()};
  double total = 0;
  for (const Group& group : groups)
    total += group.direct_us;
  double cumulative = 0;
  for (const Group& group : groups) {
    std::vector<Cell> row;
    add_identity(rank, group, row);
    add_times(group, row);
    std::vector<GpuWorkList> instances;
    for (const Launcher* launcher : group.launchers)
      instances.emplace_back(launcher->kernels);
    KernelDetails details = kernel_details(*rank.trace, instances);
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

const SheetSpec kSheet{.name = "ops_unique_args", .position = 300, .build = build};
ASSAY_REGISTER(SheetSpec, kSheet);

}  // namespace
}  // namespace assay::trace
