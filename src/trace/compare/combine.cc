#include "trace/compare/combine.h"

#include <optional>
#include <utility>
#include <vector>

#include "trace/compare/rows.h"
#include "trace/compare/timeline_summary.h"

namespace assay::trace {
namespace {

void add_missing_columns(model::Table& table, const model::Table& other) {
  for (const model::Column& column : other.columns)
    if (!table.column(column.name)) table.columns.push_back(column);
}

void append_rows(model::Table& table, const model::Table& from, const std::string& label) {
  std::vector<std::optional<std::size_t>> sources;
  for (const model::Column& column : table.columns)
    sources.push_back(from.column(column.name));
  table.cells.reserve(table.cells.size() + from.row_count() * table.columns.size());
  for (std::size_t row = 0; row < from.row_count(); ++row) {
    for (std::size_t i = 0; i + 1 < sources.size(); ++i)
      table.cells.push_back(sources[i] ? from.at(row, *sources[i]) : model::Cell{});
    table.cells.emplace_back(label);
  }
}

model::Table combined(const model::Table* baseline, const model::Table* test, const Sides& sides) {
  const model::Table& first = baseline != nullptr ? *baseline : *test;
  model::Table table{.name = first.name, .title = first.title, .columns = first.columns};
  table.notes = first.notes;
  if (test != nullptr) add_missing_columns(table, *test);
  table.columns.push_back({.name = "source", .description = "whose row this is"});
  if (baseline != nullptr) append_rows(table, *baseline, sides.baseline.label);
  if (test != nullptr) append_rows(table, *test, sides.test.label);
  return table;
}

}  // namespace

model::Book combine(const model::Book& baseline, const model::Book& test, const Sides& sides) {
  const bool both_needed = sides.options.compat == Compat::kTraceLens;
  model::Book book{.title = sides.baseline.label + " and " + sides.test.label};
  for (const model::Table& table : baseline.tables) {
    const model::Table* other = test.find(table.name);
    if (other == nullptr && both_needed) continue;
    book.tables.push_back(combined(&table, other, sides));
  }
  for (const model::Table& table : test.tables)
    if (!both_needed && baseline.find(table.name) == nullptr)
      book.tables.push_back(combined(nullptr, &table, sides));
  if (both_needed) pass_through_workbook(book);
  return book;
}

model::Book combined_timelines(const Sides& sides) {
  return combine(timeline_summary(sides.baseline.ranks, sides.options.compat),
                 timeline_summary(sides.test.ranks, sides.options.compat), sides);
}

model::Book combined_collectives(const Sides& sides) {
  return combine(sides.baseline.collectives, sides.test.collectives, sides);
}

void pass_through_workbook(model::Book& book) {
  for (model::Table& table : book.tables)
    for (model::Cell& cell : table.cells)
      cell = normalized(cell);
}

model::Table renamed(const model::Table& table, const std::string& name, model::Visibility shown) {
  model::Table copy = table;
  copy.name = name;
  copy.style.visibility = shown;
  return copy;
}

}  // namespace assay::trace
