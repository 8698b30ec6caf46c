#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/counted.h"
#include "core/statistics.h"
#include "trace/perf/performance.h"
#include "trace/perf/unified_walk.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;
using model::Table;

// Everything that distinguishes two kinds of call.
using CallKey = std::tuple<std::string_view, std::string_view, CallIdentity, bool>;

struct CallGroup {
  CallKey key;
  std::vector<const UnifiedRow*> rows = {};
  std::vector<double> cpu_us = {};
  Achieved achieved = {};
  double total_us = 0;
};

std::vector<CallGroup> group_calls(const RankAnalysis& rank,
                                   const std::vector<UnifiedRow>& rows,
                                   const std::optional<GpuArchitecture>& architecture) {
  const model::Trace& trace = *rank.trace;
  CallIdentities identities(trace);
  std::map<CallKey, std::size_t> index;
  std::vector<CallGroup> groups;
  for (const UnifiedRow& row : rows) {
    const Node& node = rank.tree.nodes[row.node];
    CallKey key{row.name, row.category, identities.of(node), rank.recomputes(row.node)};
    const auto [found, is_new] = index.try_emplace(key, groups.size());
    if (is_new) groups.push_back({.key = std::move(key)});
    CallGroup& group = groups[found->second];
    group.rows.push_back(&row);
    group.cpu_us.push_back(static_cast<double>(node_duration_ns(trace, node)) / 1e3);
    const bool estimated = row.estimate != nullptr;
    group.achieved.add(row.kernel_us, row.work, estimated ? row.estimate->compute_spec : "",
                       architecture);
    group.total_us += row.kernel_us;
  }
  std::sort(groups.begin(), groups.end(), [](const CallGroup& a, const CallGroup& b) {
    return a.total_us != b.total_us ? a.total_us > b.total_us
                                    : a.rows.front()->uid < b.rows.front()->uid;
  });
  return groups;
}

// A column and the cell that it shows for a group of calls.
struct Field {
  model::Column column;
  Cell (*value)(const CallGroup& group);
};

template <double Spread::*Member>
Cell terabytes(const CallGroup& group) {
  return spread_of(group.achieved.terabytes_per_s).*Member;
}

template <double Spread::*Member>
Cell teraflops(const CallGroup& group) {
  return spread_of(group.achieved.teraflops_per_s).*Member;
}

template <double Spread::*Member>
Cell kernel_time(const CallGroup& group) {
  return spread_of(group.achieved.kernel_us).*Member;
}

template <double Spread::*Member>
Cell cpu_time(const CallGroup& group) {
  return spread_of(group.cpu_us).*Member;
}

template <double Spread::*Member>
Cell percent_of_roofline(const CallGroup& group) {
  return spread_of(group.achieved.percent_of_roofline).*Member;
}

Cell roofline_time(const CallGroup& group) {
  const auto& roofline = group.achieved.roofline;
  return roofline ? Cell{roofline->time_us} : Cell{};
}

Cell roofline_bound(const CallGroup& group) {
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
  fields.push_back({{"GFLOPS", "1e9"}, [](const CallGroup& g) { return gflops_cell(g.achieved); }});
  fields.push_back(
      {{"Data Moved (MB)", "MiB"}, [](const CallGroup& g) { return megabytes_cell(g.achieved); }});
  fields.push_back(
      {{"FLOPS/Byte", "1/B"}, [](const CallGroup& g) { return intensity_cell(g.achieved); }});
  fields.push_back(
      {{"Compute Spec"}, [](const CallGroup& g) { return text_cell(g.achieved.compute_spec); }});
  if (with_roofline) fields.push_back({{"Roofline Bound"}, roofline_bound});
  fields.push_back({rate_column("TB/s_mean", kBytes), terabytes<&Spread::mean>});
  fields.push_back({rate_column("TB/s_std", kBytes), terabytes<&Spread::deviation>});
  fields.push_back({rate_column("TFLOPS/s_mean", kFlops), teraflops<&Spread::mean>});
  fields.push_back({rate_column("TFLOPS/s_std", kFlops), teraflops<&Spread::deviation>});
  fields.push_back({time_column("Kernel Time (µs)_mean"), kernel_time<&Spread::mean>});
  fields.push_back({time_column("Kernel Time (µs)_std"), kernel_time<&Spread::deviation>});
  fields.push_back(
      {time_column("Kernel Time (µs)_sum"), [](const CallGroup& g) { return Cell{g.total_us}; }});
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
      {{"ex_UID"}, [](const CallGroup& g) { return Cell{std::int64_t{g.rows.front()->uid}}; }},
      {{"operation_count"},
       [](const CallGroup& g) { return Cell{static_cast<std::int64_t>(g.rows.size())}; }},
      {time_column("total_duration_us"),
       [](const CallGroup& g) { return Cell{core::sum(g.cpu_us)}; }},
      {time_column("mean_duration_us"), cpu_time<&Spread::mean>},
      {time_column("std_duration_us"), cpu_time<&Spread::deviation>}};
  add_work_fields(fields, with_roofline);
  add_spread_fields(fields, with_roofline);
  return fields;
}

std::vector<model::Column> unified_columns(const RankAnalysis& rank,
                                           const std::vector<Field>& fields) {
  std::vector<model::Column> unified_columns;
  for (const char* name : {"name", "op category", "process_name", "process_label", "thread_name",
                           "Input Dims", "Input type", "Input Strides", "Concrete Inputs"})
    unified_columns.push_back({name});
  if (rank.options.detect_recompute) unified_columns.push_back(recompute_column());
  for (const Field& field : fields)
    unified_columns.push_back(field.column);
  for (const char* name :
       {"kernel_details_summary", "trunc_kernel_details", "perf_params", "has_perf_model"})
    unified_columns.push_back({name});
  unified_columns.push_back({"Percentage (%)", "%"});
  unified_columns.push_back({"Cumulative Percentage (%)", "%"});
  return unified_columns;
}

void add_identity(const RankAnalysis& rank, const CallGroup& group, std::vector<Cell>& row) {
  const auto& [name, category, identity, recomputes] = group.key;
  const Node& first = rank.tree.nodes[group.rows.front()->node];
  row.push_back(text_cell(name));
  row.push_back(text_cell(category));
  add_track_names(rank, node_track(*rank.trace, first), row);
  add_argument_texts(*rank.trace, identity.arguments, Brackets::kTuple, row);
  if (rank.options.detect_recompute) row.emplace_back(recomputes);
}

// Returns the parameters as Python prints a dict: "{'M': 2048, 'bias': False}".
std::string parameters_repr(const Estimate& estimate) {
  std::string repr;
  for (const Parameter& parameter : estimate.parameters)
    repr += fmt::format("{}{}: {}", repr.empty() ? "" : ", ", python_repr(parameter.name),
                        python_repr(parameter.value, parameter.brackets));
  return "{" + repr + "}";
}

Cell parameters_cell(const CallGroup& group) {
  for (const UnifiedRow* row : group.rows)
    if (row->estimate != nullptr) return parameters_repr(*row->estimate);
  return {};
}

// Adds both kernel_details texts. Returns the number of calls that are not in them.
std::int64_t add_kernels(const RankAnalysis& rank, const CallGroup& group, std::vector<Cell>& row) {
  std::vector<GpuWorkList> lists;
  for (const UnifiedRow* call : group.rows)
    lists.emplace_back(call->gpu_events);
  KernelDetails details = kernel_details(rank, lists);
  row.emplace_back(std::move(details.full));
  row.emplace_back(std::move(details.truncated));
  return details.left_out;
}

std::vector<std::string> notes(const model::Warnings& failures, std::int64_t left_out) {
  std::vector<std::string> notes;
  for (const model::Warning& failure : failures.all())
    notes.push_back(fmt::format("{}: {}: {} ({})", core::counted(failure.count, "call"),
                                failure.reason, failure.effect, failure.example));
  if (left_out > 0) notes.push_back(left_out_note(left_out));
  return notes;
}

std::vector<Table> build_unified_perf_summary(const RankAnalysis& rank) {
  if (hides_operators(rank)) return {};
  Estimates estimates(rank);
  const std::vector<UnifiedRow> rows = unified_rows(rank, estimates);
  if (rows.empty()) return {};
  const std::optional<GpuArchitecture> architecture = architecture_of(rank);
  const std::vector<CallGroup> groups = group_calls(rank, rows, architecture);
  const std::vector<Field> fields = figure_fields(architecture.has_value());
  Table table{"unified_perf_summary", "GPU time and achieved rates by operator and arguments",
              unified_columns(rank, fields)};
  double total = 0;
  for (const CallGroup& group : groups)
    total += group.total_us;
  double cumulative = 0;
  std::int64_t left_out = 0;
  for (const CallGroup& group : groups) {
    std::vector<Cell> row;
    add_identity(rank, group, row);
    for (const Field& field : fields)
      row.push_back(field.value(group));
    left_out += add_kernels(rank, group, row);
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

const SheetSpec kUnifiedPerfSummary{
    .name = "unified_perf_summary", .position = 500, .build = build_unified_perf_summary};
ASSAY_REGISTER(SheetSpec, kUnifiedPerfSummary);

}  // namespace
}  // namespace assay::trace
