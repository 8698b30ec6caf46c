#include "trace/compare/change_columns.h"

#include "trace/compare/rows.h"

namespace assay::trace {
void append_pair_columns(model::Table& table, const Sides& sides, const Metric& metric) {
  for (const Configuration* side : {&sides.baseline, &sides.test})
    table.columns.push_back(
        {.name = side->label + "_" + metric.name, .unit = metric.unit, .better = metric.better});
}

void append_change_columns(model::Table& table,
                           const Sides& sides,
                           const Metric& metric,
                           ChangeDetail detail) {
  append_pair_columns(table, sides, metric);
  const std::string suffix = "_" + metric.name;
  table.columns.push_back(
      {.name = "diff" + suffix, .unit = metric.unit, .description = "test - baseline"});
  table.columns.push_back({.name = kPercentChange + suffix,
                           .unit = "%",
                           .better = model::Better::kHigher,
                           .description = "of the baseline; positive: the test is better"});
  if (detail == ChangeDetail::kInterval) {
    table.columns.push_back({.name = "ci_low_percent" + suffix,
                             .unit = "%",
                             .description = "confidence interval of percent_change"});
    table.columns.push_back({.name = "ci_high_percent" + suffix, .unit = "%"});
  }
  table.columns.push_back({.name = "ratio" + suffix, .description = "test / baseline"});
}

void append_change(std::vector<model::Cell>& row, const Change& change, ChangeDetail detail) {
  row.push_back(cell_of(change.baseline));
  row.push_back(cell_of(change.test));
  row.push_back(cell_of(change.difference));
  row.push_back(cell_of(change.percent));
  if (detail == ChangeDetail::kInterval) {
    row.push_back(cell_of(change.percent_low));
    row.push_back(cell_of(change.percent_high));
  }
  row.push_back(cell_of(change.ratio));
}

model::Column p_corrected_column() {
  return {.name = "p_corrected",
          .description = "of no difference, corrected for the number of rows (Holm 1979)"};
}

void append_range_columns(model::Table& table,
                          const Sides& sides,
                          const Metric& metric,
                          Repetition repetition) {
  if (!counts_runs(repetition)) return;
  for (const Configuration* side : {&sides.baseline, &sides.test})
    for (const char* extreme : {"_run_min_", "_run_max_"})
      table.columns.push_back({.name = side->label + extreme + metric.name,
                               .unit = metric.unit,
                               .better = metric.better,
                               .description = "of the runs' means"});
}

void append_ranges(std::vector<model::Cell>& row, const Change& change, Repetition repetition) {
  if (!counts_runs(repetition)) return;
  for (const Range& range : {change.baseline_range, change.test_range}) {
    row.push_back(cell_of(range.low));
    row.push_back(cell_of(range.high));
  }
}

void style_as_comparison(model::Table& table, const Sides& sides, const std::string& judged) {
  if (sides.options.compat == Compat::kTraceLens) {
    for (const model::Column& column : table.columns)
      if (column.name.starts_with(kPercentChange)) table.style.color_scales.push_back(column.name);
    return;
  }
  table.style.excel_table = true;
  if (judged.empty()) return;
  table.style.verdict_column = kStatus;
  table.style.judged_columns = {judged};
}

}  // namespace assay::trace
