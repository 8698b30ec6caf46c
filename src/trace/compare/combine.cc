#include "trace/compare/combine.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "trace/compare/rows.h"
#include "trace/compare/timeline_summary.h"

namespace assay::trace {
namespace {

void add_missing_columns(model::Table& table, const model::Table& other) {
  for (const model::Column& column : other.columns)
    if (!table.column(column.name)) table.columns.push_back(column);
}

void append_rows(model::Table& table, const model::Table& from, const model::Cell& label) {
  std::vector<std::optional<std::size_t>> sources;
  for (const model::Column& column : table.columns)
    sources.push_back(from.column(column.name));
  table.cells.reserve(table.cells.size() + from.row_count() * table.columns.size());
  for (std::size_t row = 0; row < from.row_count(); ++row) {
    for (std::size_t i = 0; i + 1 < sources.size(); ++i)
      table.cells.push_back(sources[i] ? from.at(row, *sources[i]) : model::Cell{});
    table.cells.push_back(label);
  }
}

struct LabelledTable {
  const model::Table* table;
  const model::Cell& label;
};

std::vector<LabelledTable> tables_called(const std::string& name,
                                         std::span<const LabelledBook> books) {
  std::vector<LabelledTable> found;
  for (const LabelledBook& book : books)
    if (const model::Table* table = book.book.find(name)) found.push_back({table, book.label});
  return found;
}

model::Table stacked_tables(const std::vector<LabelledTable>& tables, const model::Column& marker) {
  const model::Table& first = *tables.front().table;
  model::Table table{.name = first.name, .title = first.title, .columns = first.columns};
  table.notes = first.notes;
  for (const LabelledTable& each : tables)
    add_missing_columns(table, *each.table);
  table.columns.push_back(marker);
  for (const LabelledTable& each : tables)
    append_rows(table, *each.table, each.label);
  return table;
}

// A note that only some of the runs have names those runs.
std::vector<std::string> notes_of_runs(const std::vector<LabelledTable>& runs) {
  const std::vector<std::string>& first = runs.front().table->notes;
  if (std::all_of(runs.begin(), runs.end(),
                  [&first](const LabelledTable& run) { return run.table->notes == first; }))
    return first;
  std::vector<std::string> notes;
  for (const LabelledTable& run : runs)
    for (const std::string& note : run.table->notes)
      notes.push_back("Repeat " + model::text(run.label) + ": " + note);
  return notes;
}

}  // namespace

model::Book stacked(std::span<const LabelledBook> books, const model::Column& marker) {
  model::Book result;
  for (const LabelledBook& book : books)
    for (const model::Table& table : book.book.tables)
      if (result.find(table.name) == nullptr)
        result.tables.push_back(stacked_tables(tables_called(table.name, books), marker));
  return result;
}

model::Book stacked_runs(std::span<const model::Book> books, std::span<const int> runs) {
  std::vector<model::Cell> labels;
  for (const int run : runs)
    labels.emplace_back(std::int64_t{run});
  std::vector<LabelledBook> labelled;
  for (std::size_t i = 0; i < books.size(); ++i)
    labelled.push_back({books[i], labels[i]});
  model::Book result =
      stacked(labelled, {.name = kRepeatColumn, .description = "which run of the configuration"});
  for (model::Table& table : result.tables)
    table.notes = notes_of_runs(tables_called(table.name, labelled));
  return result;
}

model::Book combine(const model::Book& baseline, const model::Book& test, const Sides& sides) {
  const model::Cell labels[] = {sides.baseline.label, sides.test.label};
  const LabelledBook books[] = {{baseline, labels[0]}, {test, labels[1]}};
  model::Book book = stacked(books, {.name = "source", .description = "whose row this is"});
  book.title = sides.baseline.label + " and " + sides.test.label;
  if (sides.options.compat != Compat::kTraceLens) return book;
  // The public tool joins only the sheets that both sides have.
  std::erase_if(book.tables, [&](const model::Table& table) {
    return baseline.find(table.name) == nullptr || test.find(table.name) == nullptr;
  });
  pass_through_workbook(book);
  return book;
}

model::Book summary_of_runs(const Configuration& side, Compat compat) {
  if (side.runs.size() == 1 && side.runs.front() == 0) return timeline_summary(side.ranks, compat);
  std::vector<model::Book> summaries;
  for (const int run : side.runs) {
    std::vector<RankReport> ranks;
    std::copy_if(side.ranks.begin(), side.ranks.end(), std::back_inserter(ranks),
                 [run](const RankReport& rank) { return rank.run == run; });
    summaries.push_back(timeline_summary(ranks, compat));
  }
  return stacked_runs(summaries, side.runs);
}

model::Book combined_timelines(const Sides& sides) {
  return combine(summary_of_runs(sides.baseline, sides.options.compat),
                 summary_of_runs(sides.test, sides.options.compat), sides);
}

model::Book combined_collectives(const Sides& sides) {
  return combine(sides.baseline.collectives, sides.test.collectives, sides);
}

model::Book combined_summaries(const Sides& sides) {
  const auto summaries = [](const model::Book& book) {
    model::Book result;
    for (const model::Table& table : book.tables)
      if (table.name.find("summary") != std::string::npos) result.tables.push_back(table);
    return result;
  };
  return combine(summaries(sides.baseline.collectives), summaries(sides.test.collectives), sides);
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
