// What a comparison of any number of settings needs of one of them. It is small, so that all
// settings fit into memory at once while their traces do not.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/configuration.h"
#include "trace/compare/timeline_samples.h"

namespace assay::trace {

struct SettingFigures {
  std::string label;
  std::vector<int> runs = {};
  std::vector<TimelineFigure> steady = {};  // steady_figures()
  std::vector<TimelineFigure> whole = {};   // whole_trace_figures()
  model::Book timelines = {};               // summary_of_runs()
  model::Book collectives = {};             // the summaries of the collective report
  std::string gpu_name = {};                // "NVIDIA H200"; "" where nothing names it
};

SettingFigures figures_of(const Configuration& configuration, Compat compat);

// Returns the means over ranks of what both settings name: their steady steps or, where one has no
// steps, their whole traces.
TimelinePair timeline_pair(const SettingFigures& baseline, const SettingFigures& test);

}  // namespace assay::trace
