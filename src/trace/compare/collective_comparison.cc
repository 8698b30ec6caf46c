#include "trace/compare/collective_comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/change_columns.h"
#include "trace/compare/collective_comparison_tracelens.h"
#include "trace/compare/collective_figures.h"
#include "trace/compare/collective_join.h"
#include "trace/compare/collective_long_comparison.h"
#include "trace/compare/combine.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;

// Where one kind of collective keeps its instances and its time.
struct InstanceSheet {
  std::string source;
  std::string name;
  std::string title;
  std::vector<std::string> keys;
  std::string time_column;  // µs
  std::string total_name;
  std::vector<std::string> bandwidths;  // quantities, without a unit
  std::vector<std::string> others;      // shown for both sides, not judged
};

const InstanceSheet& implicit_sync() {
  static const InstanceSheet kSheet = {
      .source = "nccl_implicit_sync",
      .name = "nccl_implicit_sync_cmp",
      .title =
          "Synchronising collectives: latency (µs, the shortest kernel over ranks) over "
          "instances",
      .keys = {"Collective name", "dtype", "In msg nelems", "Group size"},
      .time_column = "comm_latency",
      .total_name = "Total comm latency (ms)",
      .bandwidths = {"algo bw", "bus bw"},
      .others = {"skew in start time", "skew in end time"}};
  return kSheet;
}

const InstanceSheet& all_to_allv() {
  static const InstanceSheet kSheet = {
      .source = "nccl_all2allv",
      .name = "nccl_all2allv_cmp",
      .title = "all_to_allv: wall time (µs, first start to last end) over instances",
      .keys = {"Collective name", "dtype", "Group size"},
      .time_column = "wall_time (us)",
      .total_name = "Total wall_time (ms)",
      .bandwidths = {"throughput"},
      .others = {"size_imbalance", "skew in start time"}};
  return kSheet;
}

struct Side {
  const model::Table* table;
  const RowNumbers& rows;
};

Change bandwidth_change(const Side& baseline,
                        const Side& test,
                        const std::string& quantity,
                        double confidence) {
  return measure_change(bandwidths_gbps(baseline.table, baseline.rows, quantity),
                        bandwidths_gbps(test.table, test.rows, quantity), Better::kHigher,
                        confidence);
}

// Sums of different numbers of instances are shown and not compared.
Change total_change(const std::vector<double>& baseline_us, const std::vector<double>& test_us) {
  Change change =
      single_change(core::sum(baseline_us) / 1000, core::sum(test_us) / 1000, Better::kLower);
  if (baseline_us.size() != test_us.size())
    change.difference = change.percent = change.ratio = std::nan("");
  return change;
}

std::vector<model::Column> key_columns(const std::vector<std::string>& keys) {
  std::vector<model::Column> columns;
  for (const std::string& key : keys)
    columns.push_back({.name = key});
  return columns;
}

void append_columns(model::Table& table, const InstanceSheet& sheet, const Sides& sides) {
  for (const char* name : {"count", "channels", "threads"})
    append_pair_columns(table, sides, {.name = name, .better = Better::kNeither});
  append_change_columns(table, sides, {.name = sheet.time_column + "_mean", .unit = "us"},
                        ChangeDetail::kInterval);
  table.columns.push_back({.name = "status", .description = "Similar when the interval holds 0"});
  for (const std::string& quantity : sheet.bandwidths)
    append_change_columns(
        table, sides,
        {.name = quantity + " (GB/s)_mean", .unit = "GB/s", .better = Better::kHigher},
        ChangeDetail::kMeans);
  append_change_columns(table, sides, {.name = sheet.total_name, .unit = "ms"},
                        ChangeDetail::kMeans);
  for (const std::string& other : sheet.others)
    append_pair_columns(table, sides, {.name = other + "_mean", .better = Better::kLower});
}

void append_pair(std::vector<Cell>& row, const Cell& baseline, const Cell& test) {
  row.push_back(baseline);
  row.push_back(test);
}

std::vector<Cell> instance_row(const InstanceSheet& sheet,
                               const SheetPair& sheets,
                               const JoinedRows& joined,
                               double confidence) {
  const Side baseline{.table = sheets.baseline, .rows = joined.baseline};
  const Side test{.table = sheets.test, .rows = joined.test};
  std::vector<Cell> row = joined.key;
  append_pair(row, static_cast<std::int64_t>(joined.baseline.size()),
              static_cast<std::int64_t>(joined.test.size()));
  for (const char* column : {"channels", "threads"})
    append_pair(row, distinct_values(baseline.table, baseline.rows, column),
                distinct_values(test.table, test.rows, column));
  const auto times_b = instance_values(baseline.table, baseline.rows, sheet.time_column);
  const auto times_t = instance_values(test.table, test.rows, sheet.time_column);
  const Change latency = measure_change(times_b, times_t, Better::kLower, confidence);
  append_change(row, latency, ChangeDetail::kInterval);
  row.emplace_back(verdict_text(latency, "instance"));
  for (const std::string& quantity : sheet.bandwidths)
    append_change(row, bandwidth_change(baseline, test, quantity, confidence),
                  ChangeDetail::kMeans);
  append_change(row, total_change(times_b, times_t), ChangeDetail::kMeans);
  for (const std::string& other : sheet.others)
    append_pair(row, cell_of(core::mean(instance_values(baseline.table, baseline.rows, other))),
                cell_of(core::mean(instance_values(test.table, test.rows, other))));
  return row;
}

double total_time(const InstanceSheet& sheet, const SheetPair& sheets, const JoinedRows& joined) {
  return std::max(core::sum(instance_values(sheets.baseline, joined.baseline, sheet.time_column)),
                  core::sum(instance_values(sheets.test, joined.test, sheet.time_column)));
}

std::vector<JoinedRows> longest_first(const InstanceSheet& sheet, const SheetPair& sheets) {
  std::vector<std::pair<double, JoinedRows>> keyed;
  for (JoinedRows& joined : outer_join(sheets, with_process_group(sheets, sheet.keys)))
    keyed.emplace_back(total_time(sheet, sheets, joined), std::move(joined));
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<JoinedRows> result;
  for (auto& [time, joined] : keyed)
    result.push_back(std::move(joined));
  return result;
}

std::vector<std::string> missing_sheet_notes(const SheetPair& sheets, const Sides& sides) {
  std::vector<std::string> notes;
  if (sheets.baseline == nullptr) notes.push_back(sides.baseline.label + " has no such sheet");
  if (sheets.test == nullptr) notes.push_back(sides.test.label + " has no such sheet");
  return notes;
}

model::Table compare_instances(const InstanceSheet& sheet, const Sides& sides) {
  const SheetPair sheets = sheet_pair(sides, sheet.source);
  model::Table table{.name = sheet.name,
                     .title = sheet.title,
                     .columns = key_columns(with_process_group(sheets, sheet.keys))};
  table.notes = missing_sheet_notes(sheets, sides);
  append_columns(table, sheet, sides);
  for (const JoinedRows& joined : longest_first(sheet, sheets))
    table.add_row(instance_row(sheet, sheets, joined, sides.options.confidence));
  style_as_comparison(table, sides);
  return table;
}

std::string collective_name(const RowKey& key) {
  std::vector<std::string> parts;
  for (const Cell& cell : key)
    parts.push_back(model::text(cell));
  return core::join(parts, " ");
}

}  // namespace

std::vector<CollectiveChange> compare_collectives(const Sides& sides) {
  const InstanceSheet& sheet = implicit_sync();
  const SheetPair sheets = sheet_pair(sides, sheet.source);
  const auto key_count = static_cast<std::ptrdiff_t>(sheet.keys.size());
  std::vector<CollectiveChange> changes;
  for (const JoinedRows& joined : longest_first(sheet, sheets)) {
    const Side baseline{.table = sheets.baseline, .rows = joined.baseline};
    const Side test{.table = sheets.test, .rows = joined.test};
    const auto times_b = instance_values(baseline.table, baseline.rows, sheet.time_column);
    const auto times_t = instance_values(test.table, test.rows, sheet.time_column);
    const double confidence = sides.options.confidence;
    changes.push_back(
        {.name = collective_name(RowKey(joined.key.end() - key_count, joined.key.end() - 1)),
         .latency_us = measure_change(times_b, times_t, Better::kLower, confidence),
         .baseline_total_ms = core::sum(times_b) / 1000,
         .test_total_ms = core::sum(times_t) / 1000,
         .bus_gbps = bandwidth_change(baseline, test, "bus bw", confidence),
         .baseline_channels =
             model::text(distinct_values(baseline.table, baseline.rows, "channels")),
         .test_channels = model::text(distinct_values(test.table, test.rows, "channels"))});
  }
  return changes;
}

model::Book collective_comparison(const Sides& sides) {
  if (sides.options.compat == Compat::kTraceLens) return tracelens_collective_comparison(sides);
  model::Book book{.title = sides.test.label + " against " + sides.baseline.label};
  book.tables.push_back(compare_instances(implicit_sync(), sides));
  model::Table variable = compare_instances(all_to_allv(), sides);
  if (variable.row_count() > 0) book.tables.push_back(std::move(variable));
  book.tables.push_back(compare_long(sides));
  for (model::Table& table : combined_summaries(sides).tables)
    book.tables.push_back(std::move(table));
  return book;
}

}  // namespace assay::trace
