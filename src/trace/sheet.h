// The sheets of the individual report.
//
// To add one: write src/trace/sheets/<name>.cc with a SheetSpec and
//   ASSAY_REGISTER(SheetSpec, kMySheet);
// It then appears in the workbook, the CSV folder and the JSON of every report, at `position`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "model/table.h"
#include "trace/analysis.h"

namespace assay::trace {

struct SheetSpec {
  const char* name;  // unique, usually that of its file
  int position;      // sheets are sorted by it; those of the public tool keep its order
  // Returns the tables to show, none when there is nothing to show.
  std::vector<model::Table> (*build)(const RankAnalysis& rank);
};

// Returns all sheets of one rank in order or, when `only` names some, those.
model::Book individual_report(const RankAnalysis& rank,
                              std::span<const std::string_view> only = {});

// Returns the sheet `warnings` of every report: what was wrong with the input or left out, with
// counts.
model::Table warnings_table(const model::Warnings& warnings);

}  // namespace assay::trace
