// What two runs do differently on the GPU, as tables and in words.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/analysis.h"
#include "trace/diff/kernel_diff.h"

namespace assay::trace {

struct DiffSide {
  std::string label;
  std::span<const RankAnalysis> ranks;
};

struct TraceDiff {
  std::string answer;         // how much longer, and what accounts for most of it
  model::Book book;           // Answer, kernel_diff_summary, kernel_diff, tree_diff
  model::Table for_terminal;  // the largest effects of kernel_diff_summary, fewer columns
};

// Both sides need at least one rank with GPU work.
TraceDiff trace_diff(const DiffSide& baseline,
                     const DiffSide& test,
                     const KernelDiffOptions& options);

}  // namespace assay::trace
