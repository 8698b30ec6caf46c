#include "collect/listing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"

namespace assay::collect {
namespace {

constexpr std::size_t kMostValues = 6;  // of an axis that are shown

std::string text_of(const model::PerfValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

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

std::string options_text(const Operator& of) {
  std::vector<std::string> names;
  for (const Axis& axis : of.axes)
    names.push_back("--" + option_name(axis));
  return core::join(names, " ");
}

std::int64_t count_cases(const Operator& of, Grid grid) {
  return static_cast<std::int64_t>(cases_of(of, grid, {}).size());
}

}  // namespace

std::string option_name(const Axis& axis) {
  std::string name = axis.option.empty() ? axis.column : axis.option;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

model::Book operators_book(const std::vector<const Operator*>& operators) {
  model::Table list{.name = "operators",
                    .title = "Operators, with their cases on each grid",
                    .columns = {{.name = "operator"},
                                {.name = "coarse"},
                                {.name = "common"},
                                {.name = "fine"},
                                {.name = "table"},
                                {.name = "what it is"},
                                {.name = "axes"}}};
  model::Table axes{.name = "axes",
                    .title = "Axes of operators",
                    .columns = {{.name = "operator"},
                                {.name = "option"},
                                {.name = "column"},
                                {.name = "unit"},
                                {.name = "values of the common grid"},
                                {.name = "what it is"}}};
  for (const Operator* of : operators) {
    list.add_row({std::string(of->name), count_cases(*of, Grid::kCoarse),
                  count_cases(*of, Grid::kCommon), count_cases(*of, Grid::kFine),
                  std::string(of->table), std::string(of->summary), options_text(*of)});
    for (const Axis& axis : of->axes) {
      axes.add_row({std::string(of->name), "--" + option_name(axis), axis.column, axis.unit,
                    values_text(axis.values(Grid::kCommon)), axis.help});
    }
  }
  return {.title = "Operators", .tables = {std::move(list), std::move(axes)}};
}

model::Book plan_book(const Plan& plan) {
  struct Count {
    std::string name;
    std::int64_t cases = 0;
    std::int64_t checked = 0;
  };

  std::vector<Count> counts;
  model::Table cases{.name = "cases",
                     .title = "Cases in the order in which they would run",
                     .columns = {{.name = "operator"}, {.name = "case"}, {.name = "checked"}}};
  for (const PlannedCase& one : plan.cases) {
    if (counts.empty() || counts.back().name != one.operator_name) {
      counts.push_back({.name = one.operator_name});
    }
    ++counts.back().cases;
    counts.back().checked += one.check ? 1 : 0;
    cases.add_row({one.operator_name, one.id, one.check});
  }
  model::Table summary{.name = "plan",
                       .title = "What would be measured",
                       .columns = {{.name = "operator"}, {.name = "cases"}, {.name = "checked"}}};
  for (const Count& count : counts)
    summary.add_row({count.name, count.cases, count.checked});
  summary.notes.push_back(fmt::format("{} cases; plan {}", plan.cases.size(), plan.hash));
  return {.title = "Plan of a collection", .tables = {std::move(summary), std::move(cases)}};
}

}  // namespace assay::collect
