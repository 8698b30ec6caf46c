#include "trace/compare/collective_long_comparison.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "trace/compare/change_columns.h"
#include "trace/compare/collective_figures.h"
#include "trace/compare/collective_join.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One side's durations of a key, µs. Sums and counts are of a run: means over runs.
struct Durations {
  std::int64_t ranks = 0;
  double operations = 0;
  bool even = true;  // all runs have equally many operations
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

void append_columns(model::Table& table, const Sides& sides) {
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
  // Sums of different numbers of operations are shown and not compared.
  if (!b.even || !t.even || b.operations != t.operations)
    sum.difference = sum.percent = sum.ratio = kNaN;
  append_change(row, sum, ChangeDetail::kMeans);
  append_change(row, single_change(b.mean, t.mean, Better::kLower), ChangeDetail::kMeans);
  append_change(row, single_change(b.min, t.min, Better::kLower), ChangeDetail::kMeans);
  append_change(row, single_change(b.max, t.max, Better::kLower), ChangeDetail::kMeans);
  return row;
}

}  // namespace

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
  append_columns(table, sides);
  for (const JoinedRows& joined : outer_join(sheets, keys))
    table.add_row(long_row(sheets, joined, sides));
  style_as_comparison(table, sides);
  return table;
}

}  // namespace assay::trace
