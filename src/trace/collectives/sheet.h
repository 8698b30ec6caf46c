// A sheet of the collective report.
//
// To add one: write src/trace/collectives/sheets/<name>.cc with a CollectiveSheet and
//   ASSAY_REGISTER(CollectiveSheet, kMySheet);
// It then appears in the workbook, the CSV folder and the JSON, at `position`.
#pragma once

#include <vector>

#include "core/registry.h"
#include "model/table.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {

struct CollectiveSheet {
  const char* name;  // unique; the order of files, not of sheets
  int position;      // sheets stand in this order; those of the public tool keep its order
  // The tables to show; none when there is nothing to show.
  std::vector<model::Table> (*build)(const Study& study);
};

}  // namespace assay::trace::collectives
