#include "plan/validate/picks_report.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>

#include "core/statistics.h"
#include "plan/validate/picks.h"

namespace assay::plan {
namespace {

using model::Cell;

Cell percent(double share) {
  return std::isnan(share) ? Cell() : Cell(100 * share);
}

Cell share_of(std::int64_t some, std::int64_t all) {
  if (all == 0) return {};
  return percent(static_cast<double>(some) / static_cast<double>(all));
}

void add_count_columns(model::Table& table) {
  table.columns.push_back({.name = "decisions"});
  for (const char* name : {"limit broken", "called infeasible", "overshoot", "throughput lost"})
    table.columns.push_back({.name = name, .unit = "%"});
}

void add_counts(std::vector<Cell>& row, const PickCounts& counts) {
  row.emplace_back(counts.decisions);
  row.push_back(share_of(counts.broken, counts.decisions));
  row.push_back(share_of(counts.missed, counts.decisions));
  row.push_back(percent(core::median(counts.overshoots)));
  row.push_back(percent(core::mean(counts.lost)));
}

void add_row(model::Table& table, std::vector<Cell> cells, const PickCounts& counts) {
  add_counts(cells, counts);
  table.cells.insert(table.cells.end(), cells.begin(), cells.end());
}

model::Table rules_table(const std::vector<ScheduledPredictions>& schedulers, double confidence) {
  model::Table table{.name = "picks",
                     .title = "Deployments that predictions pick for a limit on TPOT",
                     .columns = {{.name = "scheduler"}, {.name = "kept by"}, {.name = "limits"}}};
  add_count_columns(table);
  table.notes.emplace_back(
      "candidates: at least 4 measured deployments of one engine, version, model, system, "
      "quantization and lengths; the pick has the most predicted tokens/s a GPU");
  table.notes.emplace_back(
      "limit broken: measured more than 5 % above it; called infeasible: none was expected to "
      "keep it, though one does; overshoot: the median where broken; throughput lost: the mean, "
      "beside the best that keeps it");
  for (const ScheduledPredictions& one : schedulers) {
    for (const std::optional<double> chance :
         {std::optional<double>(), std::optional(confidence)}) {
      const std::string rule =
          chance ? fmt::format("a chance of {:.3g} %", 100 * *chance) : "the prediction";
      const PickRule usual{.confidence = chance, .tpot_limits_ms = usual_tpot_limits()};
      const PickRule measured{.confidence = chance};
      add_row(table, {one.scheduler, rule, "8 to 50 ms"},
              sum_of(judge_picks(*one.predictions, usual)));
      add_row(table, {one.scheduler, rule, "every measured TPOT"},
              sum_of(judge_picks(*one.predictions, measured)));
    }
  }
  return table;
}

model::Table limits_table(const ScheduledPredictions& predicted) {
  model::Table table{
      .name = "picks_by_limit",
      .title = fmt::format("Picks by limit ({}, the prediction)", predicted.scheduler),
      .columns = {{.name = "TPOT limit", .unit = "ms"}}};
  add_count_columns(table);
  for (const double limit_ms : usual_tpot_limits())
    add_row(table, {limit_ms},
            sum_of(judge_picks(*predicted.predictions, {.tpot_limits_ms = {limit_ms}})));
  return table;
}

model::Table slices_table(const ScheduledPredictions& predicted) {
  model::Table table{
      .name = "picks_by_slice",
      .title = fmt::format("Picks by slice ({}, the prediction, 8 to 50 ms)", predicted.scheduler),
      .columns = {{.name = "slice"}}};
  add_count_columns(table);
  const PickRule rule{.tpot_limits_ms = usual_tpot_limits()};
  for (const auto& [slice, counts] : judge_picks(*predicted.predictions, rule))
    add_row(table, {slice}, counts);
  return table;
}

}  // namespace

model::Book picks_book(const std::vector<ScheduledPredictions>& schedulers, double confidence) {
  model::Book book{.title = "Picks beside measured deployments"};
  book.tables.push_back(rules_table(schedulers, confidence));
  book.tables.push_back(limits_table(schedulers.front()));
  book.tables.push_back(slices_table(schedulers.front()));
  return book;
}

}  // namespace assay::plan
