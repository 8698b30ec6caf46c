#include "trace/compare/collective_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/change_columns.h"
#include "trace/compare/collective_rows.h"
#include "trace/compare/combine.h"
#include "trace/compare/ranks.h"
#include "trace/compare/tracelens_comparison.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;

constexpr double kMicrosInMilli = 1000;

// The sheet and the columns that hold the instances and times of one kind of collective.
struct InstanceSheet {
  std::string source;
  std::string name;
  std::string title;
  std::vector<std::string> keys;
  std::string time_column;  // µs
  std::string time_name;    // the time in the comparison's headings
  std::string total_name;
  std::vector<std::string> bandwidths;  // names of quantities, without a unit
  std::vector<Metric> others;           // shown for both sides and not judged
};

const InstanceSheet& implicit_sync() {
  static const InstanceSheet sheet = {
      .source = "nccl_implicit_sync",
      .name = "nccl_implicit_sync_cmp",
      .title =
          "Synchronising collectives: latency (µs, the shortest kernel over ranks) over "
          "instances",
      .keys = {"Collective name", "dtype", "In msg nelems", "Group size"},
      .time_column = "comm_latency",
      .time_name = "comm_latency (us)",
      .total_name = "Total comm latency (ms)",
      .bandwidths = {"algo bw", "bus bw"},
      .others = {{.name = "skew in start time", .unit = "us"},
                 {.name = "skew in end time", .unit = "us"}}};
  return sheet;
}

const InstanceSheet& all_to_allv() {
  static const InstanceSheet sheet = {
      .source = "nccl_all2allv",
      .name = "nccl_all2allv_cmp",
      .title = "all_to_allv: wall time (µs, first start to last end) over instances",
      .keys = {"Collective name", "dtype", "Group size"},
      .time_column = "wall_time (us)",
      .time_name = "wall_time (us)",
      .total_name = "Total wall_time (ms)",
      .bandwidths = {"throughput", "bus bw"},
      .others = {{.name = "size_imbalance"}, {.name = "skew in start time", .unit = "us"}}};
  return sheet;
}

struct Side {
  const model::Table* table;
  const RowNumbers& rows;
  std::size_t runs;
};

Side baseline_of(const SheetPair& sheets, const JoinedRows& joined, const Sides& sides) {
  return {.table = sheets.baseline, .rows = joined.baseline, .runs = sides.baseline.runs.size()};
}

Side test_of(const SheetPair& sheets, const JoinedRows& joined, const Sides& sides) {
  return {.table = sheets.test, .rows = joined.test, .runs = sides.test.runs.size()};
}

RunTotals totals_ms(const std::vector<RunValue>& times_us, const Side& side) {
  RunTotals totals = run_totals(times_us, side.runs);
  totals.sum /= kMicrosInMilli;
  return totals;
}

// How values are grouped into repetitions, and how those are judged.
struct Judge {
  Repetition repetition;
  Criterion criterion;

  [[nodiscard]] Change change(const std::vector<RunValue>& baseline,
                              const std::vector<RunValue>& test,
                              Better better) const {
    return measure_change(repetitions(baseline, repetition), repetitions(test, repetition), better,
                          criterion);
  }
};

Judge judge_of(const Sides& sides) {
  const Repetition repeated_by = repetition(sides, Repetition::kInstance);
  return {.repetition = repeated_by,
          .criterion = with_evidence(sides.options.criterion, repeated_by)};
}

Change bandwidth_change(const Side& baseline,
                        const Side& test,
                        const std::string& quantity,
                        const Judge& judge) {
  return judge.change(bandwidths_gbps(baseline.table, baseline.rows, quantity),
                      bandwidths_gbps(test.table, test.rows, quantity), Better::kHigher);
}

std::vector<model::Column> columns_of_keys(const std::vector<std::string>& keys) {
  std::vector<model::Column> columns;
  columns.reserve(keys.size());
  for (const std::string& key : keys)
    columns.push_back({.name = key});
  return columns;
}

std::string mean_name(const InstanceSheet& sheet) {
  return sheet.time_name + "_mean";
}

void append_instance_columns(model::Table& table, const InstanceSheet& sheet, const Sides& sides) {
  const Repetition repeated_by = judge_of(sides).repetition;
  if (counts_runs(repeated_by))
    append_pair_columns(table, sides, {.name = "runs", .better = Better::kNeither});
  for (const char* name : {"count", "channels", "threads"})
    append_pair_columns(table, sides, {.name = name, .better = Better::kNeither});
  append_change_columns(table, sides, {.name = mean_name(sheet), .unit = "us"},
                        ChangeDetail::kInterval);
  append_range_columns(table, sides, {.name = sheet.time_name, .unit = "us"}, repeated_by);
  table.columns.push_back(
      {.name = kStatus,
       .description = status_meaning(sides.options.criterion) +
                      " Not judged: a side lacks ranks of the group, which the other has, so that "
                      "its times hold waits for them."});
  table.columns.push_back(p_corrected_column());
  for (const std::string& quantity : sheet.bandwidths)
    append_change_columns(
        table, sides,
        {.name = quantity + " (GB/s)_mean", .unit = "GB/s", .better = Better::kHigher},
        ChangeDetail::kMeans);
  append_change_columns(table, sides, {.name = sheet.total_name, .unit = "ms"},
                        ChangeDetail::kMeans);
  for (const Metric& other : sheet.others) {
    const std::string unit = other.unit.empty() ? "" : " (" + other.unit + ")";
    append_pair_columns(table, sides, {.name = other.name + unit + "_mean", .unit = other.unit});
  }
}

void append_pair(std::vector<Cell>& row, const Cell& baseline, const Cell& test) {
  row.push_back(baseline);
  row.push_back(test);
}

// Returns the change in time of each row. The rows are judged together, but for those of unequal
// groups, which are not judged.
std::vector<Change> latencies(const InstanceSheet& sheet,
                              const SheetPair& sheets,
                              const std::vector<JoinedRows>& rows,
                              const Sides& sides) {
  const Judge judge = judge_of(sides);
  std::vector<Change> changes;
  changes.reserve(rows.size());
  for (const JoinedRows& joined : rows) {
    const Side baseline = baseline_of(sheets, joined, sides);
    const Side test = test_of(sheets, joined, sides);
    changes.push_back(
        judge.change(instance_values(baseline.table, baseline.rows, sheet.time_column),
                     instance_values(test.table, test.rows, sheet.time_column), Better::kLower));
  }
  const UnequalGroups unequal(sides);
  std::vector<Change*> family;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (unequal.hold(sheets, rows[i])) {
      changes[i].verdict = Verdict::kOtherRanks;
      changes[i].p = changes[i].p_corrected = kNaN;
    } else {
      family.push_back(&changes[i]);
    }
  }
  judge_together(family, judge.criterion);
  return changes;
}

std::vector<Cell> instance_row(const InstanceSheet& sheet,
                               const SheetPair& sheets,
                               const JoinedRows& joined,
                               const Change& latency,
                               const Sides& sides) {
  const Judge judge = judge_of(sides);
  const Side baseline = baseline_of(sheets, joined, sides);
  const Side test = test_of(sheets, joined, sides);
  const auto times_b = instance_values(baseline.table, baseline.rows, sheet.time_column);
  const auto times_t = instance_values(test.table, test.rows, sheet.time_column);
  std::vector<Cell> row = joined.key;
  if (counts_runs(judge.repetition))
    append_pair(row, static_cast<std::int64_t>(latency.baseline_count),
                static_cast<std::int64_t>(latency.test_count));
  append_pair(row, static_cast<std::int64_t>(joined.baseline.size()),
              static_cast<std::int64_t>(joined.test.size()));
  for (const char* column : {"channels", "threads"})
    append_pair(row, distinct_values(baseline.table, baseline.rows, column),
                distinct_values(test.table, test.rows, column));
  append_change(row, latency, ChangeDetail::kInterval);
  append_ranges(row, latency, judge.repetition);
  row.emplace_back(verdict_text(latency, noun(judge.repetition)));
  row.push_back(cell_of(latency.p_corrected));
  for (const std::string& quantity : sheet.bandwidths)
    append_change(row, bandwidth_change(baseline, test, quantity, judge), ChangeDetail::kMeans);
  append_change(row, total_change(totals_ms(times_b, baseline), totals_ms(times_t, test)),
                ChangeDetail::kMeans);
  for (const Metric& other : sheet.others)
    append_pair(row, cell_of(core::mean(plain_values(baseline.table, baseline.rows, other.name))),
                cell_of(core::mean(plain_values(test.table, test.rows, other.name))));
  return row;
}

double total_time(const InstanceSheet& sheet, const Side& side) {
  return run_totals(instance_values(side.table, side.rows, sheet.time_column), side.runs).sum;
}

std::vector<JoinedRows> longest_first(const InstanceSheet& sheet,
                                      const SheetPair& sheets,
                                      const Sides& sides) {
  std::vector<std::pair<double, JoinedRows>> keyed;
  for (JoinedRows& joined : outer_join(sheets, with_process_group(sheets, sheet.keys))) {
    const double time = std::max(total_time(sheet, baseline_of(sheets, joined, sides)),
                                 total_time(sheet, test_of(sheets, joined, sides)));
    keyed.emplace_back(time, std::move(joined));
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<JoinedRows> result;
  result.reserve(keyed.size());
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
                     .columns = columns_of_keys(with_process_group(sheets, sheet.keys))};
  table.notes = missing_sheet_notes(sheets, sides);
  if (counts_runs(judge_of(sides).repetition)) table.title += "; interval over runs";
  append_instance_columns(table, sheet, sides);
  const std::vector<JoinedRows> rows = longest_first(sheet, sheets, sides);
  const std::vector<Change> changes = latencies(sheet, sheets, rows, sides);
  for (std::size_t i = 0; i < rows.size(); ++i)
    table.add_row(instance_row(sheet, sheets, rows[i], changes[i], sides));
  style_as_comparison(table, sides, std::string(kPercentChange) + "_" + mean_name(sheet));
  return table;
}

// The durations of one key on one side, in µs. Sums and counts are means over runs.
struct Durations {
  std::int64_t ranks = 0;
  double operations = 0;
  bool even = true;  // all runs have the same number of operations
  double sum = kNaN;
  double mean = kNaN;
  double min = kNaN;
  double max = kNaN;
};

Durations durations(const model::Table* table, const RowNumbers& rows, std::size_t runs) {
  Durations result;
  if (rows.empty()) return result;
  const auto ranks = plain_values(table, rows, "rank");
  result.ranks = static_cast<std::int64_t>(std::set<double>(ranks.begin(), ranks.end()).size());
  const auto operations = run_sums(instance_values(table, rows, "operation_count"));
  result.operations = operations.empty() ? 0 : core::mean(operations);
  result.even = operations.size() == runs && core::minimum(operations) == core::maximum(operations);
  result.sum = run_totals(instance_values(table, rows, "dur_sum"), runs).sum;
  if (result.operations > 0) result.mean = result.sum / result.operations;
  result.min = core::minimum(plain_values(table, rows, "dur_min"));
  result.max = core::maximum(plain_values(table, rows, "dur_max"));
  return result;
}

void append_duration_columns(model::Table& table, const Sides& sides) {
  table.columns.push_back({.name = "present_in"});
  for (const char* name : {"ranks", "operation_count"})
    append_pair_columns(table, sides, {.name = name, .better = Better::kNeither});
  for (const char* name : {"dur_sum", "dur_mean", "dur_min", "dur_max"})
    append_change_columns(table, sides, {.name = name, .unit = "us"}, ChangeDetail::kMeans);
}

std::string present_in(const JoinedRows& joined, const Sides& sides) {
  if (joined.test.empty()) return sides.baseline.label;
  return joined.baseline.empty() ? sides.test.label : "both";
}

std::vector<Cell> long_row(const SheetPair& sheets, const JoinedRows& joined, const Sides& sides) {
  const Durations b = durations(sheets.baseline, joined.baseline, sides.baseline.runs.size());
  const Durations t = durations(sheets.test, joined.test, sides.test.runs.size());
  std::vector<Cell> row = joined.key;
  row.emplace_back(present_in(joined, sides));
  for (const std::int64_t ranks : {b.ranks, t.ranks})
    row.emplace_back(ranks);
  for (const double operations : {b.operations, t.operations})
    row.push_back(normalized(operations));
  Change sum = single_change(b.sum, t.sum, Better::kLower);
  // Sums of different numbers of operations are shown but not compared.
  if (!b.even || !t.even || b.operations != t.operations)
    sum.difference = sum.percent = sum.ratio = kNaN;
  append_change(row, sum, ChangeDetail::kMeans);
  append_change(row, single_change(b.mean, t.mean, Better::kLower), ChangeDetail::kMeans);
  append_change(row, single_change(b.min, t.min, Better::kLower), ChangeDetail::kMeans);
  append_change(row, single_change(b.max, t.max, Better::kLower), ChangeDetail::kMeans);
  return row;
}

// nccl_long_cmp covers every collective kernel, with all ranks and streams pooled. There is no
// verdict, because durations include the wait for the last rank, and the ranks of one collective
// are not repetitions.
model::Table compare_long(const Sides& sides) {
  const SheetPair sheets = sheet_pair(sides, "nccl_summary_long");
  const std::vector<std::string> keys =
      with_process_group(sheets, {"Collective name", "dtype", "In msg nelems", "Group size"});
  model::Table table{.name = "nccl_long_cmp",
                     .title = "All collective kernels: durations (µs) over ranks, waits included",
                     .columns = {}};
  for (const std::string& key : keys)
    table.columns.push_back({.name = key});
  if (sides.baseline.runs.size() > 1 || sides.test.runs.size() > 1)
    table.title += "; sums and counts are of a run";
  append_duration_columns(table, sides);
  for (const JoinedRows& joined : outer_join(sheets, keys))
    table.add_row(long_row(sheets, joined, sides));
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
  const Judge judge = judge_of(sides);
  const std::vector<JoinedRows> rows = longest_first(sheet, sheets, sides);
  const std::vector<Change> by_row = latencies(sheet, sheets, rows, sides);
  std::vector<CollectiveChange> changes;
  for (const JoinedRows& joined : rows) {
    const Side baseline = baseline_of(sheets, joined, sides);
    const Side test = test_of(sheets, joined, sides);
    const auto times_b = instance_values(baseline.table, baseline.rows, sheet.time_column);
    const auto times_t = instance_values(test.table, test.rows, sheet.time_column);
    changes.push_back(
        {.name = collective_name(RowKey(joined.key.end() - key_count, joined.key.end() - 1)),
         .repetition = judge.repetition,
         .latency_us = by_row[changes.size()],
         .baseline_total_ms = totals_ms(times_b, baseline).sum,
         .test_total_ms = totals_ms(times_t, test).sum,
         .bus_gbps = bandwidth_change(baseline, test, "bus bw", judge),
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
