#include "trace/compare/collective_comparison_tracelens.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "trace/compare/change_columns.h"
#include "trace/compare/collective_join.h"
#include "trace/compare/combine.h"
#include "trace/compare/rows.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const std::vector<std::string>& keys() {
  static const std::vector<std::string> kKeys = {"Collective name", "dtype", "In msg nelems"};
  return kKeys;
}

// In the order of its columns. No percentage for a figure without a direction.
std::vector<Metric> metrics() {
  return {{.name = "comm_latency_mean", .better = Better::kLower},
          {.name = "algo bw (GB/s)_mean", .better = Better::kHigher},
          {.name = "bus bw (GB/s)_mean", .better = Better::kHigher},
          {.name = "Total comm latency (ms)", .better = Better::kLower},
          {.name = "count", .better = Better::kNeither}};
}

bool in_both(const SheetPair& sheets, const Metric& metric) {
  return sheets.baseline->column(metric.name) && sheets.test->column(metric.name);
}

void append_columns(model::Table& table, const Sides& sides, const Metric& metric) {
  append_change_columns(table, sides, metric, ChangeDetail::kMeans);
  if (metric.better != Better::kNeither) return;
  table.columns.erase(table.columns.end() - 2);  // percent_change
}

void append_cells(std::vector<Cell>& cells, double baseline, double test, Better better) {
  for (const double value : {baseline, test, test - baseline})
    cells.push_back(cell_of(value));
  if (better != Better::kNeither)
    cells.push_back(cell_of(baseline == 0 ? 0 : percent_better(baseline, test, better)));
  cells.push_back(cell_of(baseline == 0 ? kNaN : test / baseline));
}

model::Table compare_first_rows(const Sides& sides,
                                const std::string& source,
                                const std::string& name) {
  const SheetPair sheets = sheet_pair(sides, source);
  model::Table table{.name = name, .title = "First row of each key, compared", .columns = {}};
  for (const std::string& key : keys())
    table.columns.push_back({.name = key});
  std::vector<Metric> shown;
  for (const Metric& metric : metrics())
    if (in_both(sheets, metric)) shown.push_back(metric);
  for (const Metric& metric : shown)
    append_columns(table, sides, metric);
  const RowGroups test = group_rows(sheets.test, keys(), MissingKeys::kDrop);
  for (const auto& [key, rows] : group_rows(sheets.baseline, keys(), MissingKeys::kDrop)) {
    const auto found = test.find(key);
    if (found == test.end()) continue;
    std::vector<Cell> cells = key;
    for (const Metric& metric : shown)
      append_cells(cells, number_at(*sheets.baseline, rows.front(), metric.name),
                   number_at(*sheets.test, found->second.front(), metric.name), metric.better);
    table.add_row(std::move(cells));
  }
  style_as_comparison(table, sides);
  return table;
}

}  // namespace

model::Book combined_summaries(const Sides& sides) {
  const auto summaries = [](const model::Book& book) {
    model::Book result;
    for (const model::Table& table : book.tables)
      if (table.name.find("summary") != std::string::npos) result.tables.push_back(table);
    return result;
  };
  return combine(summaries(sides.baseline.collectives), summaries(sides.test.collectives), sides);
}

model::Book tracelens_collective_comparison(const Sides& sides) {
  model::Book book = combined_summaries(sides);
  book.title = "Collective comparison";
  for (const auto& [source, name] :
       {std::pair{"nccl_summary_implicit_sync", "nccl_implicit_sync_cmp"},
        std::pair{"nccl_summary_long", "nccl_long_cmp"}}) {
    const SheetPair sheets = sheet_pair(sides, source);
    if (sheets.baseline == nullptr || sheets.test == nullptr) continue;
    book.tables.push_back(compare_first_rows(sides, source, name));
  }
  pass_through_workbook(book);
  return book;
}

}  // namespace assay::trace
