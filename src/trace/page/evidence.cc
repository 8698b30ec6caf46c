#include "trace/page/evidence.h"

#include <utility>

#include "trace/page/step_timeline.h"

namespace assay::trace {

SideEvidence side_evidence(const Configuration& configuration) {
  return {.label = configuration.label,
          .steady = steady_figures(configuration),
          .steps = rank_steps(configuration.ranks)};
}

RunGlimpse glimpse(const path::Execution& execution, std::string gpu_name) {
  RunGlimpse result{.gpu_name = std::move(gpu_name)};
  if (const auto step = typical_step(execution)) {
    result.step_number = *step;
    result.step_ms = step_period_ms(execution, *step);
    result.step = step_timeline(execution, *step);
  }
  return result;
}

}  // namespace assay::trace
