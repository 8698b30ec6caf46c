#include "trace/compare/timeline_summary.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "trace/compare/rows.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {
namespace {

using model::Cell;
using Figures = std::vector<TimelineFigure>;

const model::Column kTime{.name = "time ms", .unit = "ms", .better = model::Better::kLower};
const model::Column kPercent{.name = "percent", .unit = "%"};

// Appends mean, std, min, max and count.
void append_spread(std::vector<Cell>& row, const std::vector<double>& values) {
  row.push_back(cell_of(core::mean(values)));
  row.push_back(cell_of(core::sample_deviation(values)));
  row.push_back(cell_of(core::minimum(values)));
  row.push_back(cell_of(core::maximum(values)));
  row.emplace_back(static_cast<std::int64_t>(values.size()));
}

void append_spread_columns(std::vector<model::Column>& columns,
                           const std::string& prefix,
                           const std::string& count_name) {
  for (const char* statistic : {"mean", "std", "min", "max"})
    columns.push_back({.name = prefix + statistic + "_ms", .unit = "ms"});
  columns.push_back({.name = count_name});
}

std::vector<double> times(const std::vector<TimelineFigure>& figures, const std::string& type) {
  std::vector<double> result;
  for (const TimelineFigure& figure : figures)
    if (figure.type == type) result.push_back(figure.time_ms);
  return result;
}

model::Table summary(const Figures& whole, const Figures& steps, Compat compat) {
  model::Table table{.name = "Summary",
                     .title = "Mean over ranks of each part of the GPU timeline",
                     .columns = {{.name = "type"}, kTime, kPercent, {.name = "num_ranks"}}};
  const bool with_steps = compat == Compat::kNone && !steps.empty();
  if (with_steps) append_spread_columns(table.columns, "step_", "n");
  std::map<std::string, TimelineSeries> types;
  for (const TimelineFigure& figure : whole) {
    types[figure.type].time_ms.push_back(figure.time_ms);
    types[figure.type].percent.push_back(figure.percent);
  }
  for (const auto& [type, series] : types) {
    std::vector<Cell> row = {type, cell_of(core::mean(series.time_ms)),
                             cell_of(core::mean(series.percent)),
                             static_cast<std::int64_t>(series.time_ms.size())};
    if (with_steps) append_spread(row, times(steps, type));
    table.add_row(std::move(row));
  }
  return table;
}

model::Table all_ranks(Figures figures) {
  std::stable_sort(figures.begin(), figures.end(), [](const auto& a, const auto& b) {
    return std::tie(a.rank, a.type) < std::tie(b.rank, b.type);
  });
  model::Table table{.name = "All_Ranks_Combined",
                     .title = "The GPU timeline of every rank",
                     .columns = {{.name = "type"}, kTime, kPercent, {.name = "rank"}}};
  for (const TimelineFigure& figure : figures)
    table.add_row({figure.type, cell_of(figure.time_ms), cell_of(figure.percent),
                   static_cast<std::int64_t>(figure.rank)});
  return table;
}

model::Table per_rank(model::Table table,
                      const Figures& figures,
                      const model::Column& unit,
                      double TimelineFigure::*value) {
  std::set<int> ranks;
  std::map<std::string, std::map<int, double>> types;
  for (const TimelineFigure& figure : figures) {
    ranks.insert(figure.rank);
    types[figure.type][figure.rank] = figure.*value;
  }
  table.columns = {{.name = "type"}};
  for (const int rank : ranks)
    table.columns.push_back({std::to_string(rank), unit.unit, unit.better, {}});
  for (const auto& [type, by_rank] : types) {
    std::vector<Cell> row = {type};
    for (const int rank : ranks) {
      const auto found = by_rank.find(rank);
      row.push_back(found == by_rank.end() ? Cell{} : cell_of(found->second));
    }
    table.add_row(std::move(row));
  }
  return table;
}

model::Table step_table(const Figures& figures) {
  std::map<std::pair<std::int64_t, std::string>, std::vector<double>> steps;
  for (const TimelineFigure& figure : figures)
    steps[{figure.step, figure.type}].push_back(figure.time_ms);
  model::Table table{.name = "Per_Step",
                     .title = "Each profiled step: spread over its ranks",
                     .columns = {{.name = "step"}, {.name = "type"}}};
  append_spread_columns(table.columns, "", "num_ranks");
  for (const auto& [key, values] : steps) {
    std::vector<Cell> row = {key.first, key.second};
    append_spread(row, values);
    table.add_row(std::move(row));
  }
  return table;
}

}  // namespace

model::Book timeline_summary(std::span<const RankReport> ranks, Compat compat) {
  const Figures whole = whole_trace_figures(ranks);
  const Figures steps = step_figures(ranks);
  model::Book book{.title = "GPU timeline of all ranks"};
  book.tables.push_back(summary(whole, steps, compat));
  book.tables.push_back(all_ranks(whole));
  book.tables.push_back(
      per_rank({.name = "Per_Rank_Time_ms", .title = "Time of each rank", .columns = {}}, whole,
               kTime, &TimelineFigure::time_ms));
  book.tables.push_back(
      per_rank({.name = "Per_Rank_Percent", .title = "Share of each rank's total", .columns = {}},
               whole, kPercent, &TimelineFigure::percent));
  if (compat == Compat::kNone && !steps.empty()) book.tables.push_back(step_table(steps));
  return book;
}

}  // namespace assay::trace
