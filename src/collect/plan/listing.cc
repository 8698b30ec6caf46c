#include "collect/plan/listing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/counted.h"
#include "core/text.h"

namespace assay::collect {
namespace {

constexpr std::size_t kMostValues = 6;  // values of an axis that are shown
constexpr double kSecondsOfACase = 0.048;
constexpr double kSecondsOfPower = 0.4;

std::string values_text(const std::vector<model::PerfValue>& values) {
  std::vector<std::string> words;
  const bool all = values.size() <= kMostValues;
  for (const model::PerfValue& value : values) {
    if (!all && words.size() == kMostValues - 1) break;
    words.push_back(text_of(value));
  }
  if (!all) words.push_back("... " + text_of(values.back()));
  return core::join(words, ", ");
}

std::vector<model::Column> axes_columns() {
  return {{.name = "option"},
          {.name = "unit"},
          {.name = "common grid"},
          {.name = "what it is"},
          {.name = "column"}};
}

std::vector<model::Cell> axis_row(const Axis& axis) {
  return {"--" + option_name(axis), axis.unit, values_text(axis.values(Grid::kCommon)), axis.help,
          axis.column};
}

std::int64_t count_cases(const Operator& op, Grid grid) {
  return static_cast<std::int64_t>(cases_of(op, grid, {}).size());
}

}  // namespace

model::Table operators_table(const std::vector<const Operator*>& operators, Columns columns) {
  model::Table table{.name = "operators",
                     .title = "Operators, with how many cases each grid has",
                     .columns = {{.name = "operator"},
                                 {.name = "coarse"},
                                 {.name = "common"},
                                 {.name = "fine"},
                                 {.name = "cpu"},
                                 {.name = "what it is"}}};
  if (columns == Columns::kAll) table.columns.push_back({.name = "table"});
  for (const Operator* op : operators) {
    std::vector<model::Cell> row = {
        std::string(op->name),           count_cases(*op, Grid::kCoarse),
        count_cases(*op, Grid::kCommon), count_cases(*op, Grid::kFine),
        count_cases(*op, Grid::kCpu),    std::string(op->summary)};
    if (columns == Columns::kAll) row.emplace_back(std::string(op->table));
    table.add_row(std::move(row));
  }
  return table;
}

model::Table axes_table(const std::vector<const Operator*>& operators) {
  model::Table table{.name = "axes", .title = "Axes of operators", .columns = axes_columns()};
  table.columns.insert(table.columns.begin(), {.name = "operator"});
  for (const Operator* op : operators) {
    for (const Axis& axis : op->axes) {
      std::vector<model::Cell> row = axis_row(axis);
      row.insert(row.begin(), std::string(op->name));
      table.add_row(std::move(row));
    }
  }
  return table;
}

model::Book axes_book(const std::vector<const Operator*>& operators) {
  model::Book book{.title = "Axes of operators"};
  for (const Operator* op : operators) {
    model::Table table{.name = op->name,
                       .title = fmt::format("{}: {}", op->name, op->summary),
                       .columns = axes_columns()};
    table.notes.push_back(
        fmt::format("cases: {} on the coarse grid, {} on the common, {} on the fine, {} on that of "
                    "CPUs; rows go "
                    "to {}.txt",
                    count_cases(*op, Grid::kCoarse), count_cases(*op, Grid::kCommon),
                    count_cases(*op, Grid::kFine), count_cases(*op, Grid::kCpu), op->table));
    for (const Axis& axis : op->axes)
      table.add_row(axis_row(axis));
    book.tables.push_back(std::move(table));
  }
  return book;
}

double expected_seconds(const Plan& plan) {
  const auto with_power =
      std::count_if(plan.cases.begin(), plan.cases.end(),
                    [](const PlannedCase& planned) { return planned.measure_power; });
  return kSecondsOfACase * static_cast<double>(plan.cases.size()) +
         kSecondsOfPower * static_cast<double>(with_power);
}

model::Book plan_book(const Plan& plan) {
  struct Count {
    std::string name;
    std::int64_t cases = 0;
    std::int64_t checked = 0;
    std::int64_t with_power = 0;
  };

  const bool has_power =
      std::any_of(plan.cases.begin(), plan.cases.end(),
                  [](const PlannedCase& planned) { return planned.measure_power; });
  std::vector<Count> counts;
  model::Table cases{.name = "cases",
                     .title = "Cases in the order in which they would run",
                     .columns = {{.name = "operator"}, {.name = "case"}, {.name = "checked"}}};
  model::Table summary{.name = "plan",
                       .title = "What would be measured",
                       .columns = {{.name = "operator"}, {.name = "cases"}, {.name = "checked"}}};
  if (has_power) {
    cases.columns.push_back({.name = "power"});
    summary.columns.push_back({.name = "with power"});
  }
  const auto add_row = [&](model::Table& table, std::vector<model::Cell> row, model::Cell power) {
    if (has_power) row.push_back(std::move(power));
    table.add_row(std::move(row));
  };
  for (const PlannedCase& planned : plan.cases) {
    if (counts.empty() || counts.back().name != planned.operator_name) {
      counts.push_back({.name = planned.operator_name});
    }
    ++counts.back().cases;
    counts.back().checked += planned.check ? 1 : 0;
    counts.back().with_power += planned.measure_power ? 1 : 0;
    add_row(cases, {planned.operator_name, planned.id, planned.check}, planned.measure_power);
  }
  for (const Count& count : counts)
    add_row(summary, {count.name, count.cases, count.checked}, count.with_power);
  summary.notes.push_back(
      fmt::format("{}; plan {}", core::counted(plan.cases.size(), "case"), plan.hash));
  return {.title = "Plan of a collection", .tables = {std::move(summary), std::move(cases)}};
}

}  // namespace assay::collect
