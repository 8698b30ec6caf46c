#include "trace/page/evidence.h"

#include "trace/page/step_timeline.h"
#include "trace/pipelines/prepare.h"

namespace assay::trace {

SideEvidence side_evidence(const Configuration& configuration) {
  return {.label = configuration.label, .steps = step_figures(configuration.ranks)};
}

RunGlimpse glimpse(const AnalyzedRun& run) {
  RunGlimpse result;
  for (const RankAnalysis& rank : run.ranks) {
    if (result.gpu_name.empty()) result.gpu_name = rank.trace->gpu_name;
  }
  if (const auto step = typical_step(run.ranks)) {
    result.step_number = *step;
    result.step = step_timeline(run.ranks, *step, on_one_clock(run.ranks));
  }
  return result;
}

}  // namespace assay::trace
