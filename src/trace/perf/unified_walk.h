// Assigns every counted GPU event to one row of unified_perf_summary, under the operator that says
// most about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/analysis.h"
#include "trace/perf/operator_instances.h"

namespace assay::trace {

struct UnifiedRow {
  NodeId node = kNoNode;
  std::string name = {};  // of the operator, or "operator->kernel (Synthetic Op)"
  std::string_view category = {};
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> gpu_events = {};  // the counted ones, in launch order
  double kernel_us = 0;                        // length of the union of the GPU work of `work`
  bool has_model = false;
  const Estimate* estimate = nullptr;  // null without a model and where the model does not fit
  const Work* work = nullptr;          // the estimate's forward or backward work
};

// Walks the tree from the roots down. These operators get a row with all the work below them:
// - an operator with a performance model;
// - the only backward operator of a modelled forward operator, unless an operator below it has a
//   model;
// - an operator that launches work itself, unless an operator below it has a model or the work is
//   communication.
// The kernels that remain (launched beside modelled operators, or by no operator) get rows of their
// own. Communication is left out.
std::vector<UnifiedRow> unified_rows(const RankAnalysis& rank, Estimates& estimates);

}  // namespace assay::trace
