#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "store/query.h"

namespace assay::store {
namespace {

bool varies(const QueryResult& result, std::size_t column) {
  const std::vector<Answer>& answers = result.answers;
  return std::any_of(answers.begin(), answers.end(), [&](const Answer& answer) {
    return answer.group->exact[column] != answers.front().group->exact[column];
  });
}

// A bracket point by the sizes in which it is not what was asked.
std::string point_text(const Surface& surface, const GridPoint& point, const QueryResult& result) {
  const auto sizes = surface.grid().sizes_of(point.position);
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < result.sizes.size(); ++axis) {
    if (sizes[axis] != result.sizes[axis])
      parts.push_back(fmt::format("{}={}", surface.axes()[axis].column, sizes[axis]));
  }
  return core::join(parts, " ");
}

void add_point(std::vector<model::Cell>& row,
               const Surface& surface,
               const GridPoint& point,
               const QueryResult& result) {
  row.emplace_back(point_text(surface, point, result));
  row.emplace_back(point.latency);
}

void add_bracket(std::vector<model::Cell>& row, const Answer& answer, const QueryResult& result) {
  const Estimate& estimate = answer.estimate;
  const Surface& surface = answer.group->surface;
  if (estimate.is_exact()) {
    row.resize(row.size() + 4);
    return;
  }
  add_point(row, surface, estimate.low, result);
  if (estimate.low.position == estimate.high.position) {
    row.resize(row.size() + 2);
  } else {
    add_point(row, surface, estimate.high, result);
  }
}

}  // namespace

model::Table answers_table(const TableIndex& index, const QueryResult& result, KeyColumns keys) {
  const std::string unit(latency_unit(index.table()));
  model::Table table{.name = index.table().substr(0, 31), .title = "", .columns = {}};
  std::vector<std::size_t> shown;
  std::vector<std::string> same;
  for (std::size_t i = 0; i < index.exact_columns().size(); ++i) {
    const std::string& name = index.exact_columns()[i].name;
    if (keys == KeyColumns::kAll || varies(result, i)) {
      shown.push_back(i);
      table.columns.push_back({.name = name});
    } else if (const std::string& value = index.exact_value(*result.answers.front().group, i);
               !value.empty()) {
      same.push_back(name + " " + value);
    }
  }
  std::vector<std::string> asked;
  for (std::size_t i = 0; i < result.sizes.size(); ++i) {
    asked.push_back(fmt::format("{}={}", index.size_columns()[i], result.sizes[i]));
    if (keys == KeyColumns::kAll) table.columns.push_back({.name = index.size_columns()[i]});
  }
  table.title = index.table() + " at " + core::join(asked, " ");
  if (!same.empty()) table.notes.push_back("of all rows: " + core::join(same, ", "));
  table.columns.push_back({.name = "latency", .unit = unit, .better = model::Better::kLower});
  table.columns.push_back(
      {.name = "uncertainty",
       .unit = "%",
       .better = model::Better::kLower,
       .description = "typical error of the bracket's points predicted from their neighbours"});
  table.columns.push_back({.name = "method"});
  table.columns.push_back({.name = "low"});
  table.columns.push_back({.name = "low_latency", .unit = unit});
  table.columns.push_back({.name = "high"});
  table.columns.push_back({.name = "high_latency", .unit = unit});
  const bool has_roofline =
      std::any_of(result.answers.begin(), result.answers.end(),
                  [](const Answer& answer) { return answer.estimate.roofline > 0; });
  if (has_roofline) {
    table.columns.push_back({.name = "roofline",
                             .unit = unit,
                             .description = "the least time that bytes and operations take"});
  }
  for (const Answer& answer : result.answers) {
    std::vector<model::Cell> row;
    for (const std::size_t column : shown)
      row.emplace_back(index.exact_value(*answer.group, column));
    for (std::size_t i = 0; keys == KeyColumns::kAll && i < result.sizes.size(); ++i)
      row.emplace_back(result.sizes[i]);
    const Estimate& estimate = answer.estimate;
    row.emplace_back(estimate.latency);
    row.emplace_back(estimate.uncertainty ? model::Cell(*estimate.uncertainty * 100)
                                          : model::Cell());
    row.emplace_back(answer.group->surface.method(estimate, result.sizes));
    add_bracket(row, answer, result);
    if (has_roofline) {
      row.emplace_back(estimate.roofline > 0 ? model::Cell(estimate.roofline) : model::Cell());
    }
    table.add_row(std::move(row));
  }
  return table;
}

}  // namespace assay::store
