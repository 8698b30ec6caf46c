#include "trace/collectives/report.h"

#include <algorithm>

#include "trace/collectives/overview.h"
#include "trace/collectives/sheet.h"

namespace assay::trace {

CollectiveReport collective_report(std::span<const RankAnalysis> ranks,
                                   std::optional<int> gpus_per_node) {
  const collectives::Study study = collectives::study_collectives(ranks, gpus_per_node);
  auto sheets = core::Registry<collectives::CollectiveSheet>::all();
  std::stable_sort(sheets.begin(), sheets.end(),
                   [](auto* a, auto* b) { return a->position < b->position; });
  CollectiveReport report{
      {"Collectives of all ranks"}, collectives::overview(study), study.warnings};
  for (const auto* sheet : sheets) {
    for (model::Table& table : sheet->build(study))
      report.book.tables.push_back(std::move(table));
  }
  return report;
}

}  // namespace assay::trace
