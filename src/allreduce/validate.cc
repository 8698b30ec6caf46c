#include "allreduce/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "allreduce/shipped_tables.h"
#include "core/statistics.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

bool is_in(const Cell& cell, const RegretScope& scope) {
  return (!scope.world_size || *scope.world_size == cell.world_size) &&
         (!scope.fusion || *scope.fusion == cell.fusion);
}

// Returns the geometric mean of a strategy's times in both measurements, or NaN when one lacks it.
double pooled(const Choice& one, const Choice& other, Strategy strategy) {
  const Timing* first = find_timing(one.timings, strategy);
  const Timing* second = find_timing(other.timings, strategy);
  return first && second ? std::sqrt(first->time_us * second->time_us) : kUnknown;
}

bool are_equally_fast(const Choice& one, const Choice& other, double tie) {
  const double ratio = pooled(one, other, one.strategy) / pooled(one, other, other.strategy);
  return std::abs(std::log(ratio)) <= std::log1p(tie);
}

}  // namespace

Regret regret_of(const Contender& contender, const Timings& held_out, const RegretScope& scope) {
  Regret regret;
  std::vector<double> regrets;
  std::vector<double> logarithms;
  for (const auto& [cell, timings] : restricted(held_out, contender.arms)) {
    if (timings.empty() || !is_in(cell, scope)) continue;
    const Strategy choice = contender.choose(cell);
    const Timing* chosen = find_timing(timings, choice);
    if (!chosen) {
      ++regret.not_measured;
      continue;
    }
    const double ratio = chosen->time_us / timings.front().time_us;
    if (regrets.empty() || ratio - 1 > regret.max) {
      regret.max = ratio - 1;
      regret.worst = cell;
      regret.worst_choice = choice;
      regret.worst_best = timings.front().strategy;
    }
    regrets.push_back(ratio - 1);
    logarithms.push_back(std::log(ratio));
  }
  regret.cells = regrets.size();
  regret.p50 = core::median(regrets);
  regret.p95 = core::quantile(regrets, 0.95);
  regret.geometric_mean = std::expm1(core::mean(logarithms));
  return regret;
}

Stability stability_of(const std::vector<DecidedSlice>& one,
                       const std::vector<DecidedSlice>& other,
                       double tie) {
  Stability stability;
  for (const DecidedSlice& slice : one) {
    for (const DecidedRow& row : slice.rows) {
      for (const Choice& choice : row.choices) {
        const Choice* again = find_choice(other, choice.cell);
        if (!again || !choice.chosen() || !again->chosen()) continue;
        ++stability.cells;
        if (again->strategy == choice.strategy) continue;
        ++stability.different;
        if (!are_equally_fast(choice, *again, tie)) ++stability.beyond_ties;
      }
    }
  }
  return stability;
}

namespace {

struct Arms {
  std::string name;
  std::vector<Strategy> strategies;
};

Contender by_lookup(std::string name, const Arms& arms, LookupTable table) {
  return {.name = std::move(name),
          .arms_name = arms.name,
          .arms = arms.strategies,
          .choose = [table = std::move(table)](const Cell& cell) {
            return table.lookup(cell.world_size, cell.fusion, cell.hidden_size, cell.num_tokens);
          }};
}

Contender by_argmin(const Arms& arms, const TunedTables& tables) {
  return by_lookup(
      "argmin of each cell", arms,
      lookup_table_of(decide_by_smallest_time(tables.timings, arms.strategies),
                      tables.options.data_type, tables.table.sm_version, Strategy::kNccl));
}

Contender nccl_always(const Arms& arms) {
  return {.name = "NCCL always",
          .arms_name = arms.name,
          .arms = arms.strategies,
          .choose = [](const Cell&) { return Strategy::kNccl; }};
}

Contender by_table(const Arms& arms, const StrategyTable& table) {
  return {.name = "this table",
          .arms_name = arms.name,
          .arms = arms.strategies,
          .choose = [&table](const Cell& cell) {
            return table.lookup(cell.world_size, cell.fusion, cell.data_type, cell.hidden_size,
                                cell.num_tokens);
          }};
}

}  // namespace

std::vector<Contender> contenders(const TunedTables& tables) {
  const Arms all{.name = "all", .strategies = tables.strategies};
  const Arms open{.name = "public", .strategies = tables.public_strategies};
  std::vector<Contender> result;
  result.push_back(by_table(all, tables.table));
  result.push_back(by_argmin(all, tables));
  result.push_back(nccl_always(all));
  result.push_back(by_lookup("this lookup table", open, tables.lookup));
  result.push_back(by_argmin(open, tables));
  for (ShippedTable& shipped : shipped_tables())
    result.push_back(by_lookup(std::string(shipped.name), open, std::move(shipped.table)));
  result.push_back({.name = "FlashInfer's rule",
                    .arms_name = open.name,
                    .arms = open.strategies,
                    .choose = flashinfer_rule});
  result.push_back(nccl_always(open));
  return result;
}

Strategy flashinfer_rule(const Cell& cell) {
  constexpr std::int64_t kMib = 1 << 20;
  const std::int64_t limit = (cell.world_size <= 2 ? 512 : (cell.world_size <= 4 ? 64 : 42)) * kMib;
  return 2 * cell.world_size * cell.size_bytes() <= limit ? Strategy::kOneshot : Strategy::kTwoshot;
}

namespace {

model::Cell count_cell(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

// Rounds to a millionth of a percent so that the last bits of logarithms, in which machines differ,
// do not show.
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

// Returns the median of half the intervals' widths, as a fraction of the time.
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
                  names_of(tables.strategies, ", "), names_of(tables.public_strategies, ", ")),
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

core::Result<model::Table> stability_table(const TunedTables& one, const TunedTables& other) {
  const double tie = one.options.tie;
  const Stability own = stability_of(one.choices, other.choices, tie);
  if (own.cells == 0) {
    return core::Error{"no cell is measured in both folders, so no choices can be compared"};
  }
  model::Table table{
      .name = "stability",
      .title = "Choices from two independent measurements",
      .columns = {{.name = "rule"},
                  {.name = "arms"},
                  {.name = "cells",
                   .description = "measured in both; of the lookup table, entries with times in "
                                  "both"},
                  {.name = "different"},
                  {.name = "different share", .unit = "%", .better = model::Better::kLower},
                  {.name = "beyond ties"},
                  {.name = "beyond ties share", .unit = "%", .better = model::Better::kLower}},
      .notes = {fmt::format("Beyond ties: the two choices' times, over both measurements, are more "
                            "than {:.2g} % apart.",
                            one.options.tie * kPercent)}};
  const auto argmin = [&](const std::vector<Strategy>& arms) {
    return stability_of(decide_by_smallest_time(one.timings, arms),
                        decide_by_smallest_time(other.timings, arms), tie);
  };
  add_stability(table, "this table", "all", own);
  add_stability(table, "argmin of each cell", "all", argmin(one.strategies));
  add_stability(table, "this lookup table", "public",
                stability_of(one.public_choices, other.public_choices, tie));
  add_stability(table, "argmin of each cell", "public", argmin(one.public_strategies));
  return table;
}

}  // namespace assay::allreduce
