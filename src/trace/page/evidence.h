// What the page of a comparison shows besides the tables of its report.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/table.h"
#include "model/warnings.h"
#include "report/page.h"
#include "trace/compare/configuration.h"
#include "trace/compare/step_states.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {

// What only the traces of a run tell, taken from it while they are in memory.
struct RunGlimpse {
  std::string gpu_name;  // "NVIDIA H200"; "" where no trace names it
  std::optional<report::TimelineChart> step = std::nullopt;  // one step of all ranks
  std::int64_t step_number = 0;
  double step_ms = 0;  // its period, mean over ranks
};

struct SideEvidence {
  std::string label;
  std::vector<TimelineFigure> steady;  // steady_figures()
  std::vector<RankStep> steps = {};    // of every run, rank and step, steady or not
  RunGlimpse glimpse = {};             // of the first run
};

struct ComparisonEvidence {
  model::Book report;  // the final report
  SideEvidence baseline;
  SideEvidence test;
  model::Warnings warnings = {};
  std::vector<std::pair<std::string, std::string>> provenance = {};  // "baseline", "runs/a"
};

SideEvidence side_evidence(const Configuration& configuration);

RunGlimpse glimpse(const path::Execution& execution, std::string gpu_name);

}  // namespace assay::trace
