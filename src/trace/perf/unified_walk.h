// Every counted piece of GPU work once, under the operator that tells most about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/analysis.h"
#include "trace/perf/estimates.h"

namespace assay::trace {

struct UnifiedRow {
  NodeId node = kNoNode;
  std::string name = {};  // the operator's, or "operator->kernel (Synthetic Op)"
  std::string_view category = {};
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> gpu_events = {};  // counted, in launch order
  double kernel_us = 0;                        // union of the GPU work that `work` speaks of
  bool has_model = false;
  const Estimate* estimate = nullptr;  // null without a model and where the model does not fit
  const Work* work = nullptr;          // the estimate's forward or backward work
};

// From the roots down: an operator with a performance model is taken whole; so is the one backward
// operator of a modelled forward operator, unless an operator below it has a model; so is one that
// launches work itself, unless an operator below it has a model or the work is communication.
// Kernels that remain (launched beside modelled operators, or by no operator) get rows of their
// own. Communication is left out.
std::vector<UnifiedRow> unified_rows(const RankAnalysis& rank, Estimates& estimates);

}  // namespace assay::trace
