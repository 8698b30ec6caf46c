#include "trace/compare/dashboard.h"

#include <fmt/core.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "trace/compare/change_columns.h"
#include "trace/compare/rows.h"
#include "trace/compare/timeline_comparison.h"
#include "trace/compare/timeline_words.h"

namespace assay::trace {
namespace {

using model::Cell;

model::Table empty_dashboard(std::vector<model::Column> columns) {
  model::Table table{.name = "Summary_Dashboard",
                     .title = "Which setting is better, where, and is it real?",
                     .columns = std::move(columns)};
  table.style.excel_table = true;
  return table;
}

std::vector<model::Column> dashboard_columns(const Sides& sides, Repetition repetition) {
  const std::string interval = fmt::format("{:.3g} % CI ", 100 * sides.options.confidence);
  std::vector<model::Column> columns = {
      {.name = "Metric"},
      {.name = "Baseline", .unit = "ms", .description = sides.baseline.label},
      {.name = "Test", .unit = "ms", .description = sides.test.label},
      {.name = "Improvement (%)", .unit = "%", .better = model::Better::kHigher},
      {.name = interval + "low (%)", .unit = "%"},
      {.name = interval + "high (%)", .unit = "%"}};
  if (repetition == Repetition::kRun)
    for (const char* name :
         {"Baseline run min", "Baseline run max", "Test run min", "Test run max"})
      columns.push_back({.name = name, .unit = "ms", .description = "of the runs' means"});
  columns.push_back({.name = "Verdict"});
  columns.push_back({.name = fmt::format("Baseline {}s", noun(repetition))});
  columns.push_back({.name = fmt::format("Test {}s", noun(repetition))});
  columns.push_back({.name = "In words"});
  return columns;
}

// Decimal rounding of the exact binary value, as Python's round() does it.
double rounded(double value) {
  return std::strtod(fmt::format("{:.2f}", value).c_str(), nullptr);
}

const char* tracelens_status(double improvement) {
  if (improvement > 0) return "Better";
  return improvement < -1 ? "Worse" : "Similar";
}

}  // namespace

model::Table dashboard(const Sides& sides, const Answer& answer) {
  const TimelinePair pair = timeline_pair(sides);
  const Repetition repetition = pair.basis.repetition;
  model::Table table = empty_dashboard(dashboard_columns(sides, repetition));
  table.style.color_scales = {"Improvement (%)"};
  for (const AnswerLine& line : answer.lines)
    table.notes.push_back(line.question + " " + line.answer);
  for (const TimelineChange& change : compare_means(pair, sides.options.confidence)) {
    const Change& time = change.time_ms;
    std::vector<Cell> row = {"GPU_" + change.type,      cell_of(time.baseline),
                             cell_of(time.test),        cell_of(time.percent),
                             cell_of(time.percent_low), cell_of(time.percent_high)};
    append_ranges(row, time, repetition);
    row.emplace_back(timeline_verdict(time, pair.basis));
    row.emplace_back(repetition_count(time.baseline_count, repetition));
    row.emplace_back(repetition_count(time.test_count, repetition));
    row.emplace_back(change.type == kTotalTime ? headline_in_words(change, pair.basis, sides)
                                               : in_words(change, pair.basis));
    table.add_row(std::move(row));
  }
  return table;
}

model::Table tracelens_dashboard(const Sides& sides, const model::Table* summary_comparison) {
  model::Table table = empty_dashboard({{.name = "Metric"},
                                        {.name = "Baseline"},
                                        {.name = "Test"},
                                        {.name = "Improvement (%)"},
                                        {.name = "Status"}});
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
