#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.h"
#include "store/answers/query.h"

namespace assay::store {
namespace {

bool varies(const QueryResult& result, std::size_t column) {
  const std::vector<Answer>& answers = result.answers;
  return std::any_of(answers.begin(), answers.end(), [&](const Answer& answer) {
    return answer.group->exact[column] != answers.front().group->exact[column];
  });
}

// 4096 rather than 4096.0.
model::Cell size_cell(double size) {
  if (size == std::floor(size) && size < 1e15) return static_cast<std::int64_t>(size);
  return size;
}

// 128 of "128", 1.2 of "1.2".
model::Cell number_cell(const std::string& text) {
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() ? size_cell(number) : model::Cell(text);
}

// As many key-value heads as the answer has heads, in place of the words for it.
model::Cell heads_cell(const TableIndex& index, const Group& group, const QueryResult& result) {
  for (std::size_t i = 0; i < result.sizes.size(); ++i) {
    if (index.size_columns()[i] == "num_heads") return size_cell(result.sizes[i]);
  }
  for (std::size_t i = 0; i < index.exact_columns().size(); ++i) {
    if (index.exact_columns()[i].name == "num_heads")
      return number_cell(index.exact_value(group, i));
  }
  return std::string(kAsHeads);
}

model::Cell exact_cell(const TableIndex& index,
                       const Group& group,
                       std::size_t column,
                       const QueryResult& result) {
  const std::string& value = index.exact_value(group, column);
  if (index.exact_columns()[column].kind == ValueKind::kText) return value;
  if (value.empty()) return {};
  return value == kAsHeads ? heads_cell(index, group, result) : number_cell(value);
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

// The ends of the bracket, or the two nearest points.
std::vector<GridPoint> ends_of(const Estimate& estimate) {
  if (estimate.is_exact()) return {};
  if (estimate.low.position == estimate.high.position) return {estimate.low};
  return {estimate.low, estimate.high};
}

// "m=256: 0.0201, m=512: 0.0241"
std::string bracket_text(const Answer& answer, const QueryResult& result) {
  std::vector<std::string> parts;
  for (const GridPoint& point : ends_of(answer.estimate)) {
    parts.push_back(
        fmt::format("{}: {:.4g}", point_text(answer.group->surface, point, result), point.latency));
  }
  return core::join(parts, ", ");
}

void add_bracket_cells(std::vector<model::Cell>& row,
                       const Answer& answer,
                       const QueryResult& result) {
  const std::vector<GridPoint> ends = ends_of(answer.estimate);
  for (const GridPoint& point : ends) {
    row.emplace_back(point_text(answer.group->surface, point, result));
    row.emplace_back(point.latency);
  }
  row.resize(row.size() + 2 * (2 - ends.size()));
}

void add_bracket_columns(model::Table& table, KeyColumns keys) {
  if (keys == KeyColumns::kVarying) {
    table.columns.push_back({.name = "bracket", .unit = "ms"});
    return;
  }
  for (const char* end : {"low", "high"}) {
    table.columns.push_back({.name = end, .description = "end of the bracket"});
    table.columns.push_back({.name = std::string(end) + "_latency", .unit = "ms"});
  }
}

}  // namespace

model::Table answers_table(const TableIndex& index, const QueryResult& result, KeyColumns keys) {
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
  table.title = index.table() + (asked.empty() ? "" : " at " + core::join(asked, " "));
  if (!same.empty()) table.notes.push_back("of all rows: " + core::join(same, ", "));
  table.columns.push_back({.name = "latency", .unit = "ms", .better = model::Better::kLower});
  table.columns.push_back(
      {.name = "uncertainty",
       .unit = "%",
       .better = model::Better::kLower,
       .description = "typical error of the bracket's points predicted from their neighbours"});
  table.columns.push_back({.name = "method"});
  add_bracket_columns(table, keys);
  const bool has_roofline =
      std::any_of(result.answers.begin(), result.answers.end(),
                  [](const Answer& answer) { return answer.estimate.roofline > 0; });
  if (has_roofline) {
    table.columns.push_back({.name = "roofline",
                             .unit = "ms",
                             .description = "the least time that bytes and operations take"});
  }
  for (const Answer& answer : result.answers) {
    std::vector<model::Cell> row;
    for (const std::size_t column : shown)
      row.push_back(exact_cell(index, *answer.group, column, result));
    for (std::size_t i = 0; keys == KeyColumns::kAll && i < result.sizes.size(); ++i)
      row.push_back(size_cell(result.sizes[i]));
    const Estimate& estimate = answer.estimate;
    row.emplace_back(estimate.latency);
    row.emplace_back(estimate.uncertainty ? model::Cell(*estimate.uncertainty * 100)
                                          : model::Cell());
    row.emplace_back(answer.group->surface.method(estimate, result.sizes));
    if (keys == KeyColumns::kVarying) {
      row.emplace_back(bracket_text(answer, result));
    } else {
      add_bracket_cells(row, answer, result);
    }
    if (has_roofline) {
      row.emplace_back(estimate.roofline > 0 ? model::Cell(estimate.roofline) : model::Cell());
    }
    table.add_row(std::move(row));
  }
  return table;
}

}  // namespace assay::store
