#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "allreduce/validate.h"
#include "core/statistics.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

constexpr double kPercent = 100;

model::Cell count_cell(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

// Rounded to what a measurement can carry, so that the last bits of two machines' logarithms do
// not show.
model::Cell percent_cell(double part) {
  constexpr double kSteps = 1e6;
  return model::cell_of(std::round(part * kPercent * kSteps) / kSteps);
}

std::vector<model::Column> figures() {
  return {{.name = "cells"},
          {.name = "not measured", .description = "cells whose choice was not timed there"},
          {.name = "p50", .unit = "%", .better = model::Better::kLower},
          {.name = "p95", .unit = "%", .better = model::Better::kLower},
          {.name = "max", .unit = "%", .better = model::Better::kLower},
          {.name = "geometric mean", .unit = "%", .better = model::Better::kLower}};
}

std::vector<model::Cell> figures_of(const Regret& regret) {
  return {count_cell(regret.cells), count_cell(regret.not_measured),
          percent_cell(regret.p50), percent_cell(regret.p95),
          percent_cell(regret.max), percent_cell(regret.geometric_mean)};
}

std::string names_of(const std::vector<Strategy>& strategies) {
  std::vector<std::string> names;
  names.reserve(strategies.size());
  for (const Strategy strategy : strategies)
    names.emplace_back(name_of(strategy));
  return core::join(names, ", ");
}

// Half the width of the intervals, as a part of the time.
double median_noise(const Timings& timings) {
  std::vector<double> halves;
  for (const auto& [cell, of_cell] : timings) {
    for (const Timing& timing : of_cell)
      halves.push_back(std::log(timing.high_us / timing.low_us) / 2);
  }
  return core::median(halves);
}

model::Table with_figures(model::Table table) {
  for (model::Column& column : figures())
    table.columns.push_back(std::move(column));
  return table;
}

std::vector<model::Cell> with_figures(std::vector<model::Cell> row, const Regret& regret) {
  for (model::Cell& cell : figures_of(regret))
    row.push_back(std::move(cell));
  return row;
}

model::Table overall_table(const TunedTables& tables, const Timings& held_out) {
  model::Table table{.name = "regret",
                     .title = "Time of the choice over the best measured, less 1",
                     .columns = {{.name = "chosen by"}, {.name = "arms"}}};
  table = with_figures(std::move(table));
  table.notes = {
      fmt::format("The best is the fastest of the same arms. all: {}; public: {}.",
                  names_of(tables.strategies), names_of(tables.public_strategies)),
      "'this table' is looked up by bytes, lookup tables as TensorRT-LLM does: every axis floored.",
      fmt::format("Half of the held-out times know their time to within {:.2g} %.",
                  median_noise(held_out) * kPercent)};
  return table;
}

model::Table slices_table() {
  return with_figures(
      {.name = "regret_by_slice",
       .title = "The same for each TP and fusion",
       .columns = {{.name = "chosen by"}, {.name = "arms"}, {.name = "TP"}, {.name = "fusion"}}});
}

void add_slices(model::Table& table, const Contender& contender, const Timings& held_out) {
  std::set<std::pair<int, Fusion>> scopes;
  for (const auto& [cell, timings] : held_out)
    scopes.emplace(cell.world_size, cell.fusion);
  for (const auto& [world_size, fusion] : scopes) {
    const Regret regret =
        regret_of(contender, held_out, {.world_size = world_size, .fusion = fusion});
    if (regret.cells + regret.not_measured == 0) continue;
    table.add_row(
        with_figures({contender.name, contender.arms_name, static_cast<std::int64_t>(world_size),
                      std::string(name_of(fusion))},
                     regret));
  }
}

model::Table worst_table() {
  return {.name = "worst",
          .title = "Where the regret is largest",
          .columns = {{.name = "chosen by"},
                      {.name = "arms"},
                      {.name = "TP"},
                      {.name = "fusion"},
                      {.name = "hidden size"},
                      {.name = "tokens"},
                      {.name = "choice"},
                      {.name = "best"},
                      {.name = "regret", .unit = "%", .better = model::Better::kLower}}};
}

void add_worst(model::Table& table, const Contender& contender, const Regret& regret) {
  if (regret.cells == 0 || regret.max <= 0) return;
  table.add_row({contender.name, contender.arms_name,
                 static_cast<std::int64_t>(regret.worst.world_size),
                 std::string(name_of(regret.worst.fusion)), regret.worst.hidden_size,
                 regret.worst.num_tokens, std::string(name_of(regret.worst_choice)),
                 std::string(name_of(regret.worst_best)), percent_cell(regret.max)});
}

void add_stability(model::Table& table,
                   const std::string& rule,
                   const std::string& arms,
                   const Stability& stability) {
  const auto cells = static_cast<double>(stability.cells);
  table.add_row({rule, arms, count_cell(stability.cells), count_cell(stability.different),
                 percent_cell(static_cast<double>(stability.different) / cells),
                 count_cell(stability.beyond_ties),
                 percent_cell(static_cast<double>(stability.beyond_ties) / cells)});
}

}  // namespace

Validation validate(const TunedTables& tables, const Timings& held_out) {
  model::Table overall = overall_table(tables, held_out);
  model::Table slices = slices_table();
  model::Table worst = worst_table();
  Validation validation;
  for (const Contender& contender : contenders(tables)) {
    const Regret regret = regret_of(contender, held_out);
    if (overall.cells.empty()) validation.table_p95 = regret.p95;
    overall.add_row(with_figures({contender.name, contender.arms_name}, regret));
    add_worst(worst, contender, regret);
    add_slices(slices, contender, held_out);
  }
  validation.book = {.title = "Validation of an all-reduce table",
                     .tables = {std::move(overall), std::move(worst), std::move(slices)}};
  return validation;
}

model::Table stability_table(const TunedTables& one, const TunedTables& other) {
  model::Table table{
      .name = "stability",
      .title = "Choices from two independent measurements",
      .columns = {{.name = "rule"},
                  {.name = "arms"},
                  {.name = "cells", .description = "measured in both"},
                  {.name = "different"},
                  {.name = "different share", .unit = "%", .better = model::Better::kLower},
                  {.name = "beyond ties"},
                  {.name = "beyond ties share", .unit = "%", .better = model::Better::kLower}},
      .notes = {fmt::format("Beyond ties: the two choices' times, over both measurements, are more "
                            "than {:.2g} % apart.",
                            one.options.tie * kPercent)}};
  const double tie = one.options.tie;
  const auto argmin = [&](const std::vector<Strategy>& arms) {
    return stability_of(decide_by_smallest_time(one.timings, arms),
                        decide_by_smallest_time(other.timings, arms), tie);
  };
  add_stability(table, "this table", "all", stability_of(one.choices, other.choices, tie));
  add_stability(table, "argmin of each cell", "all", argmin(one.strategies));
  add_stability(table, "this lookup table", "public",
                stability_of(one.public_choices, other.public_choices, tie));
  add_stability(table, "argmin of each cell", "public", argmin(one.public_strategies));
  return table;
}

}  // namespace assay::allreduce
