// The sheets of the collective report.
//
// To add one: write src/trace/collectives/sheets/<name>.cc with a CollectiveSheet and
//   ASSAY_REGISTER(CollectiveSheet, kMySheet);
// It then appears in the workbook, the CSV folder and the JSON, at `position`.
#pragma once

#include <string>
#include <vector>

#include "core/registry.h"
#include "model/table.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {

struct CollectiveSheet {
  const char* name;  // unique, usually that of its file
  int position;      // sheets are sorted by it; those of the public tool keep its order
  // Returns the tables to show, none when there is nothing to show.
  std::vector<model::Table> (*build)(const Study& study);
};

enum class NodeColumns { kHide, kShow };

// The public tool calls the only rank of an individual report 0, whatever its number.
enum class RankLabel { kReal, kZero };

// The table of each rank's own collectives by kind, size and stream. It is nccl_summary_long here
// and coll_analysis in the individual report.
model::Table rank_summary(const Study& study,
                          const std::string& name,
                          NodeColumns node_columns,
                          RankLabel rank_label);

}  // namespace assay::trace::collectives
