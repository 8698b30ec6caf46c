#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/statistics.h"
#include "trace/kernel_details.h"
#include "trace/operator_rows.h"
#include "trace/perf/performance.h"
#include "trace/perf/unified_walk.h"
#include "trace/sheet.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;
using model::Table;

// Everything that tells two kinds of call apart.
using Key = std::tuple<std::string_view, std::string_view, model::TrackId, ArgumentTexts>;

struct Group {
  Key key;
  std::vector<const UnifiedRow*> rows = {};
  std::vector<double> cpu_us = {};
  Achieved achieved = {};
  double total_us = 0;
};

std::vector<Group> grouped(const RankAnalysis& rank,
                           const std::vector<UnifiedRow>& rows,
                           const std::optional<GpuArchitecture>& architecture) {
  const model::Trace& trace = *rank.trace;
  std::map<Key, std::size_t> index;
  std::vector<Group> groups;
  for (const UnifiedRow& row : rows) {
    const Node& node = rank.tree.nodes[row.node];
    Key key{row.name, row.category, node_track(trace, node), argument_texts(trace, node)};
    const auto [found, is_new] = index.try_emplace(key, groups.size());
    if (is_new) groups.push_back({.key = std::move(key)});
    Group& group = groups[found->second];
    group.rows.push_back(&row);
    group.cpu_us.push_back(static_cast<double>(node_duration_ns(trace, node)) / 1e3);
    const bool estimated = row.estimate != nullptr;
    group.achieved.add(row.kernel_us, row.work, estimated ? row.estimate->compute_spec : "",
                       architecture);
    group.total_us += row.kernel_us;
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.total_us != b.total_us ? a.total_us > b.total_us
                                    : a.rows.front()->uid < b.rows.front()->uid;
  });
  return groups;
}

// One column and what it shows of a group.
struct Field {
  model::Column column;
  Cell (*value)(const Group& group);
};

template <double Spread::*Member>
Cell terabytes(const Group& group) {
  return spread_of(group.achieved.terabytes_per_s).*Member;
}

template <double Spread::*Member>
Cell teraflops(const Group& group) {
  return spread_of(group.achieved.teraflops_per_s).*Member;
}

template <double Spread::*Member>
Cell kernel_time(const Group& group) {
  return spread_of(group.achieved.kernel_us).*Member;
}

template <double Spread::*Member>
Cell cpu_time(const Group& group) {
  return spread_of(group.cpu_us).*Member;
}

template <double Spread::*Member>
Cell percent_of_roofline(const Group& group) {
  return spread_of(group.achieved.percent_of_roofline).*Member;
}

Cell roofline_time(const Group& group) {
  const auto& roofline = group.achieved.roofline;
  return roofline ? Cell{roofline->time_us} : Cell{};
}

Cell roofline_bound(const Group& group) {
  const auto& roofline = group.achieved.roofline;
  return roofline ? Cell{std::string(roofline->bound)} : Cell{};
}

model::Column time_column(const char* name) {
  return {name, "µs", Better::kLower};
}

model::Column rate_column(const char* name, const char* unit) {
  return {name, unit, Better::kHigher};
}

void add_work_fields(std::vector<Field>& fields, bool with_roofline) {
  constexpr const char* kBytes = "1e12 B/s";
  constexpr const char* kFlops = "1e12/s";
  fields.push_back({{"GFLOPS", "1e9"}, [](const Group& g) { return gflops_cell(g.achieved); }});
  fields.push_back(
      {{"Data Moved (MB)", "MiB"}, [](const Group& g) { return megabytes_cell(g.achieved); }});
  fields.push_back(
      {{"FLOPS/Byte", "1/B"}, [](const Group& g) { return intensity_cell(g.achieved); }});
  fields.push_back(
      {{"Compute Spec"}, [](const Group& g) { return text_cell(g.achieved.compute_spec); }});
  if (with_roofline) fields.push_back({{"Roofline Bound"}, roofline_bound});
  fields.push_back({rate_column("TB/s_mean", kBytes), terabytes<&Spread::mean>});
  fields.push_back({rate_column("TB/s_std", kBytes), terabytes<&Spread::deviation>});
  fields.push_back({rate_column("TFLOPS/s_mean", kFlops), teraflops<&Spread::mean>});
  fields.push_back({rate_column("TFLOPS/s_std", kFlops), teraflops<&Spread::deviation>});
  fields.push_back({time_column("Kernel Time (µs)_mean"), kernel_time<&Spread::mean>});
  fields.push_back({time_column("Kernel Time (µs)_std"), kernel_time<&Spread::deviation>});
  fields.push_back(
      {time_column("Kernel Time (µs)_sum"), [](const Group& g) { return Cell{g.total_us}; }});
}

void add_spread_fields(std::vector<Field>& fields, bool with_roofline) {
  constexpr const char* kBytes = "1e12 B/s";
  constexpr const char* kFlops = "1e12/s";
  fields.push_back({time_column("duration_us_median"), cpu_time<&Spread::median>});
  fields.push_back({time_column("duration_us_min"), cpu_time<&Spread::minimum>});
  fields.push_back({time_column("duration_us_max"), cpu_time<&Spread::maximum>});
  fields.push_back({rate_column("TB/s_median", kBytes), terabytes<&Spread::median>});
  fields.push_back({rate_column("TB/s_min", kBytes), terabytes<&Spread::minimum>});
  fields.push_back({rate_column("TB/s_max", kBytes), terabytes<&Spread::maximum>});
  fields.push_back({rate_column("TFLOPS/s_median", kFlops), teraflops<&Spread::median>});
  fields.push_back({rate_column("TFLOPS/s_min", kFlops), teraflops<&Spread::minimum>});
  fields.push_back({rate_column("TFLOPS/s_max", kFlops), teraflops<&Spread::maximum>});
  if (with_roofline) {
    fields.push_back({{"Roofline Time (µs)_first", "µs"}, roofline_time});
    fields.push_back({rate_column("Pct Roofline_mean", "%"), percent_of_roofline<&Spread::mean>});
    fields.push_back(
        {rate_column("Pct Roofline_median", "%"), percent_of_roofline<&Spread::median>});
    fields.push_back(
        {rate_column("Pct Roofline_std", "%"), percent_of_roofline<&Spread::deviation>});
    fields.push_back({rate_column("Pct Roofline_min", "%"), percent_of_roofline<&Spread::minimum>});
    fields.push_back({rate_column("Pct Roofline_max", "%"), percent_of_roofline<&Spread::maximum>});
  }
  fields.push_back({time_column("Kernel Time (µs)_median"), kernel_time<&Spread::median>});
  fields.push_back({time_column("Kernel Time (µs)_min"), kernel_time<&Spread::minimum>});
  fields.push_back({time_column("Kernel Time (µs)_max"), kernel_time<&Spread::maximum>});
}

std::vector<Field> figure_fields(bool with_roofline) {
  std::vector<Field> fields{
      {{"ex_UID"}, [](const Group& g) { return Cell{std::int64_t{g.rows.front()->uid}}; }},
      {{"operation_count"},
       [](const Group& g) { return Cell{static_cast<std::int64_t>(g.rows.size())}; }},
      {time_column("total_duration_us"), [](const Group& g) { return Cell{core::sum(g.cpu_us)}; }},
      {time_column("mean_duration_us"), cpu_time<&Spread::mean>},
      {time_column("std_duration_us"), cpu_time<&Spread::deviation>}};
  add_work_fields(fields, with_roofline);
  add_spread_fields(fields, with_roofline);
  return fields;
}

std::vector<model::Column> columns(const std::vector<Field>& fields) {
  std::vector<model::Column> columns;
  for (const char* name : {"name", "op category", "process_name", "process_label", "thread_name",
                           "Input Dims", "Input type", "Input Strides", "Concrete Inputs"})
    columns.push_back({name});
  for (const Field& field : fields)
    columns.push_back(field.column);
  for (const char* name :
       {"kernel_details_summary", "trunc_kernel_details", "perf_params", "has_perf_model"})
    columns.push_back({name});
  columns.push_back({"Percentage (%)", "%"});
  columns.push_back({"Cumulative Percentage (%)", "%"});
  return columns;
}

void add_identity(const RankAnalysis& rank, const Group& group, std::vector<Cell>& row) {
  const auto& [name, category, track, arguments] = group.key;
  const TrackNames names = track_names(*rank.trace, track);
  for (const std::string_view text :
       {name, category, names.process_name, names.process_label, names.thread_name})
    row.push_back(text_cell(text));
  for (const model::TextId id :
       {arguments.dims, arguments.types, arguments.strides, arguments.concrete})
    row.push_back(text_cell(python_repr_json(rank.trace->text(id), Brackets::kTuple)));
}

// "{'M': 2048, 'bias': False}"
std::string parameters_repr(const Estimate& estimate) {
  std::string repr;
  for (const Parameter& parameter : estimate.parameters)
    repr += fmt::format("{}{}: {}", repr.empty() ? "" : ", ", python_repr(parameter.name),
                        python_repr(parameter.value, parameter.brackets));
  return "{" + repr + "}";
}

Cell parameters_cell(const Group& group) {
  for (const UnifiedRow* row : group.rows)
    if (row->estimate != nullptr) return parameters_repr(*row->estimate);
  return {};
}

// Adds both texts; returns how many calls are not in them.
std::int64_t add_kernels(const model::Trace& trace, const Group& group, std::vector<Cell>& row) {
  std::vector<GpuWorkList> lists;
  for (const UnifiedRow* call : group.rows)
    lists.emplace_back(call->gpu_events);
  KernelDetails details = kernel_details(trace, lists);
  row.emplace_back(std::move(details.full));
  row.emplace_back(std::move(details.truncated));
  return details.left_out;
}

std::vector<std::string> notes(const model::Warnings& failures, std::int64_t left_out) {
  std::vector<std::string> notes;
  for (const model::Warning& failure : failures.all())
    notes.push_back(fmt::format("{} calls: {}: {} ({})", failure.count, failure.reason,
                                failure.effect, failure.example));
  if (left_out > 0)
    notes.push_back(fmt::format(
        "{} calls launched another number of kernels than the first of their row: their kernels "
        "are not in kernel_details",
        left_out));
  return notes;
}

std::vector<Table> build(const RankAnalysis& rank) {
  Estimates estimates(rank);
  const std::vector<UnifiedRow> rows = unified_rows(rank, estimates);
  if (rows.empty()) return {};
  const std::optional<GpuArchitecture> architecture = architecture_of(rank);
  const std::vector<Group> groups = grouped(rank, rows, architecture);
  const std::vector<Field> fields = figure_fields(architecture.has_value());
  Table table{"unified_perf_summary", "GPU time and achieved rates by operator and arguments",
              columns(fields)};
  double total = 0;
  for (const Group& group : groups)
    total += group.total_us;
  double cumulative = 0;
  std::int64_t left_out = 0;
  for (const Group& group : groups) {
    std::vector<Cell> row;
    add_identity(rank, group, row);
    for (const Field& field : fields)
      row.push_back(field.value(group));
    left_out += add_kernels(*rank.trace, group, row);
    row.push_back(parameters_cell(group));
    row.emplace_back(group.rows.front()->has_model);
    cumulative += percent(group.total_us, total);
    row.emplace_back(percent(group.total_us, total));
    row.emplace_back(cumulative);
    table.add_row(std::move(row));
  }
  table.notes = notes(estimates.failures(), left_out);
  return {std::move(table)};
}

const SheetSpec kSheet{.name = "unified_perf_summary", .position = 500, .build = build};
ASSAY_REGISTER(SheetSpec, kSheet);

}  // namespace
}  // namespace assay::trace
