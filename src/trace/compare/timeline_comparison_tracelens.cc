#include "trace/compare/timeline_comparison_tracelens.h"

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "trace/compare/change_columns.h"
#include "trace/compare/combine.h"
#include "trace/compare/rows.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {
namespace {

using model::Cell;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

enum class Status { kShown, kNotShown };

struct Row {
  double baseline_ms;
  double test_ms;
  double baseline_percent;
  double test_percent;
};

const char* status_text(double percent_change) {
  if (percent_change > 1) return "Better";
  return percent_change < -1 ? "Worse" : "Similar";
}

void append_columns(model::Table& table, const Sides& sides, Status status) {
  append_pair_columns(table, sides, {.name = "time_ms", .unit = "ms"});
  table.columns.push_back({.name = "diff_time_ms", .unit = "ms"});
  table.columns.push_back(
      {.name = "percent_change", .unit = "%", .better = model::Better::kHigher});
  if (status == Status::kShown) table.columns.push_back({.name = "status"});
  table.columns.push_back({.name = "ratio"});
  append_pair_columns(table, sides, {.name = "percent", .unit = "%"});
  table.columns.push_back({.name = "diff_percent", .unit = "%"});
}

void append_cells(std::vector<Cell>& cells, const Row& row, Status status) {
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

Row row_of(const TimelineSeries& baseline, const TimelineSeries& test) {
  return {.baseline_ms = core::mean(baseline.time_ms),
          .test_ms = core::mean(test.time_ms),
          .baseline_percent = core::mean(baseline.percent),
          .test_percent = core::mean(test.percent)};
}

model::Table summary_comparison(const TimelinePair& pair, const Sides& sides) {
  model::Table table{.name = "Summary_Comparison",
                     .title = "Means over ranks, compared",
                     .columns = {{.name = "type"}}};
  append_columns(table, sides, Status::kNotShown);
  const SeriesByType test = mean_over_ranks(pair.test, pair.basis.repetition);
  for (const auto& [type, series] : mean_over_ranks(pair.baseline, pair.basis.repetition)) {
    const auto found = test.find(type);
    if (found == test.end()) continue;
    std::vector<Cell> cells = {type};
    append_cells(cells, row_of(series, found->second), Status::kNotShown);
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
    append_cells(cells, row_of(series, found->second), Status::kShown);
    table.add_row(std::move(cells));
  }
}

model::Table comparison_by_rank(const TimelinePair& pair, const Sides& sides) {
  model::Table table{.name = "Comparison_By_Rank",
                     .title = "Rank by rank, compared",
                     .columns = {{.name = "rank"}, {.name = "type"}}};
  append_columns(table, sides, Status::kShown);
  const std::map<int, SeriesByType> test = by_rank(pair.test, pair.basis.repetition);
  for (const auto& [rank, series] : by_rank(pair.baseline, pair.basis.repetition)) {
    const auto found = test.find(rank);
    if (found != test.end()) append_rank(table, rank, series, found->second);
  }
  style_as_comparison(table, sides);
  return table;
}

}  // namespace

model::Book tracelens_timeline_comparison(const Sides& sides) {
  const TimelinePair pair = whole_trace_pair(sides);
  model::Book book = combined_timelines(sides);
  book.title = "GPU timeline comparison";
  book.tables.push_back(comparison_by_rank(pair, sides));
  book.tables.push_back(summary_comparison(pair, sides));
  pass_through_workbook(book);
  return book;
}

}  // namespace assay::trace
