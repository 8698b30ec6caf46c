// Each rank's own view of its collectives: the nccl_summary_long table, also the individual
// report's coll_analysis.
#pragma once

#include <string>

#include "model/table.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {

enum class NodeColumns { kHide, kShow };

// The public tool calls the only rank of an individual report 0, whatever it is.
enum class RankLabel { kReal, kZero };

model::Table rank_summary(const Study& study,
                          const std::string& name,
                          NodeColumns node_columns,
                          RankLabel rank_label);

}  // namespace assay::trace::collectives
