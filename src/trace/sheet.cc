#include "trace/sheet.h"

#include <algorithm>
#include <iterator>

#include "model/warnings.h"

namespace assay::trace {

model::Book individual_report(const RankAnalysis& rank, std::span<const std::string_view> only) {
  std::vector<const SheetSpec*> sheets = core::Registry<SheetSpec>::all();
  std::stable_sort(sheets.begin(), sheets.end(), [](const SheetSpec* a, const SheetSpec* b) {
    return a->position < b->position;
  });
  model::Book book{"Individual report of rank " + std::to_string(rank.rank)};
  for (const SheetSpec* sheet : sheets) {
    const bool wanted =
        only.empty() || std::find(only.begin(), only.end(), sheet->name) != only.end();
    if (!wanted) continue;
    std::vector<model::Table> tables = sheet->build(rank);
    std::move(tables.begin(), tables.end(), std::back_inserter(book.tables));
  }
  return book;
}

model::Table warnings_table(const model::Warnings& warnings) {
  model::Table table{"warnings",
                     "What was wrong with the input or left out of the figures",
                     {{"what"}, {"count"}, {"effect"}, {"example"}}};
  for (const model::Warning& w : warnings.all()) {
    table.add_row({w.reason, w.count, w.whole_effect(), w.example});
  }
  return table;
}

}  // namespace assay::trace
