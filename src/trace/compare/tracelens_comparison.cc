#include "trace/compare/tracelens_comparison.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "trace/compare/change_columns.h"
#include "trace/compare/collective_rows.h"
#include "trace/compare/combine.h"
#include "trace/compare/rows.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;

enum class Status { kShown, kNotShown };

struct TimelineRow {
  double baseline_ms;
  double test_ms;
  double baseline_percent;
  double test_percent;
};

const char* status_text(double percent_change) {
  if (percent_change > 1) return "Better";
  return percent_change < -1 ? "Worse" : "Similar";
}

void append_timeline_columns(model::Table& table, const Sides& sides, Status status) {
  append_pair_columns(table, sides, {.name = "time_ms", .unit = "ms"});
  table.columns.push_back({.name = "diff_time_ms", .unit = "ms"});
  table.columns.push_back(
      {.name = "percent_change", .unit = "%", .better = model::Better::kHigher});
  if (status == Status::kShown) table.columns.push_back({.name = "status"});
  table.columns.push_back({.name = "ratio"});
  append_pair_columns(table, sides, {.name = "percent", .unit = "%"});
  table.columns.push_back({.name = "diff_percent", .unit = "%"});
}

void append_timeline_cells(std::vector<Cell>& cells, const TimelineRow& row, Status status) {
  const double difference = row.test_ms - row.baseline_ms;
  const double change = row.baseline_ms == 0 ? 0 : -difference / row.baseline_ms * 100;
  for (const double value : {row.baseline_ms, row.test_ms, difference, change})
    cells.push_back(cell_of(value));
  if (status == Status::kShown) cells.emplace_back(status_text(change));
  cells.push_back(cell_of(row.baseline_ms == 0 ? kNaN : row.test_ms / row.baseline_ms));
  for (const double value :
       {row.baseline_percent, row.test_percent, row.test_percent - row.baseline_percent})
    cells.push_back(cell_of(value));
}

TimelineRow row_of(const TimelineSeries& baseline, const TimelineSeries& test) {
  return {.baseline_ms = core::mean(baseline.time_ms),
          .test_ms = core::mean(test.time_ms),
          .baseline_percent = core::mean(baseline.percent),
          .test_percent = core::mean(test.percent)};
}

model::Table tracelens_summary_comparison(const TimelinePair& pair, const Sides& sides) {
  model::Table table{.name = "Summary_Comparison",
                     .title = "Means over ranks, compared",
                     .columns = {{.name = "type"}}};
  append_timeline_columns(table, sides, Status::kNotShown);
  const SeriesByType test = mean_over_ranks(pair.test, pair.basis.repetition);
  for (const auto& [type, series] : mean_over_ranks(pair.baseline, pair.basis.repetition)) {
    const auto found = test.find(type);
    if (found == test.end()) continue;
    std::vector<Cell> cells = {type};
    append_timeline_cells(cells, row_of(series, found->second), Status::kNotShown);
    table.add_row(std::move(cells));
  }
  style_as_comparison(table, sides);
  return table;
}

void append_rank(model::Table& table,
                 int rank,
                 const SeriesByType& baseline,
                 const SeriesByType& test) {
  for (const auto& [type, series] : baseline) {
    const auto found = test.find(type);
    if (found == test.end()) continue;
    std::vector<Cell> cells = {static_cast<std::int64_t>(rank), type};
    append_timeline_cells(cells, row_of(series, found->second), Status::kShown);
    table.add_row(std::move(cells));
  }
}

model::Table tracelens_comparison_by_rank(const TimelinePair& pair, const Sides& sides) {
  model::Table table{.name = "Comparison_By_Rank",
                     .title = "Rank by rank, compared",
                     .columns = {{.name = "rank"}, {.name = "type"}}};
  append_timeline_columns(table, sides, Status::kShown);
  const std::map<int, SeriesByType> test = by_rank(pair.test, pair.basis.repetition);
  for (const auto& [rank, series] : by_rank(pair.baseline, pair.basis.repetition)) {
    const auto found = test.find(rank);
    if (found != test.end()) append_rank(table, rank, series, found->second);
  }
  style_as_comparison(table, sides);
  return table;
}

const std::vector<std::string>& tracelens_keys() {
  static const std::vector<std::string> keys = {"Collective name", "dtype", "In msg nelems"};
  return keys;
}

// The metrics in the order of the public tool's columns. A figure without a direction has no
// percentage.
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

void append_metric_columns(model::Table& table, const Sides& sides, const Metric& metric) {
  append_change_columns(table, sides, metric, ChangeDetail::kMeans);
  if (metric.better != Better::kNeither) return;
  table.columns.erase(table.columns.end() - 2);  // percent_change
}

void append_metric_cells(std::vector<Cell>& cells, double baseline, double test, Better better) {
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
  for (const std::string& key : tracelens_keys())
    table.columns.push_back({.name = key});
  std::vector<Metric> shown;
  for (const Metric& metric : metrics())
    if (in_both(sheets, metric)) shown.push_back(metric);
  for (const Metric& metric : shown)
    append_metric_columns(table, sides, metric);
  const RowGroups test = group_rows(sheets.test, tracelens_keys(), MissingKeys::kDrop);
  for (const auto& [key, rows] :
       group_rows(sheets.baseline, tracelens_keys(), MissingKeys::kDrop)) {
    const auto found = test.find(key);
    if (found == test.end()) continue;
    std::vector<Cell> cells = key;
    for (const Metric& metric : shown)
      append_metric_cells(cells, number_at(*sheets.baseline, rows.front(), metric.name),
                          number_at(*sheets.test, found->second.front(), metric.name),
                          metric.better);
    table.add_row(std::move(cells));
  }
  style_as_comparison(table, sides);
  return table;
}

// Rounds the exact binary value in decimal, as Python's round() does.
double rounded(double value) {
  const std::string text = fmt::format("{:.2f}", value);
  double read = value;
  std::from_chars(text.data(), text.data() + text.size(), read);
  return read;
}

const char* tracelens_status(double improvement) {
  if (improvement > 0) return "Better";
  return improvement < -1 ? "Worse" : "Similar";
}

}  // namespace

model::Book tracelens_timeline_comparison(const Sides& sides) {
  const TimelinePair pair = whole_trace_pair(sides);
  model::Book book = combined_timelines(sides);
  book.title = "GPU timeline comparison";
  book.tables.push_back(tracelens_comparison_by_rank(pair, sides));
  book.tables.push_back(tracelens_summary_comparison(pair, sides));
  pass_through_workbook(book);
  return book;
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

model::Table tracelens_dashboard(const Sides& sides, const model::Table* summary_comparison) {
  model::Table table{.name = "Summary_Dashboard",
                     .title = "Which setting is better, where, and is it real?",
                     .columns = {{.name = "Metric"},
                                 {.name = "Baseline"},
                                 {.name = "Test"},
                                 {.name = "Improvement (%)"},
                                 {.name = "Status"}}};
  if (summary_comparison == nullptr) return table;
  for (std::size_t row = 0; row < summary_comparison->row_count(); ++row) {
    const auto figure = [&](const std::string& column) {
      return number_at(*summary_comparison, row, column);
    };
    const double improvement = figure("percent_change");
    table.add_row({"GPU_" + model::text(summary_comparison->at(row, 0)),
                   cell_of(rounded(figure(sides.baseline.label + "_time_ms"))),
                   cell_of(rounded(figure(sides.test.label + "_time_ms"))),
                   cell_of(rounded(improvement)), std::string(tracelens_status(improvement))});
  }
  return table;
}

}  // namespace assay::trace
