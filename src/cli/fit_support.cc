#include "cli/fit_support.h"

#include <algorithm>
#include <iterator>

#include "cli/trace_options.h"
#include "goal/input.h"
#include "simulate/simulate.h"
#include "simulate/stuck.h"

namespace assay::cli {

goal::Simulate simulator() {
  return [](const model::Schedule& schedule, const std::vector<std::uint32_t>& node_of_rank,
            const goal::Links& links) -> core::Result<std::int64_t> {
    const simulate::Options options{
        .inter = links.inter, .intra = links.intra, .node_of_rank = node_of_rank};
    const simulate::Outcome outcome = ASSAY_TRY(simulate::simulate(schedule, options));
    if (outcome.finished) return outcome.longest_ns();
    return simulate::stuck_error(outcome, simulate::find_stuck(outcome, 3));
  };
}

core::Result<std::vector<goal::UnitModel>> measured_units(
    const std::vector<std::filesystem::path>& recordings,
    const goal::InputOptions& options,
    std::size_t skip) {
  std::vector<goal::Unit> units;
  for (const std::filesystem::path& recording : recordings) {
    const model::Job job = ASSAY_TRY(goal::read_job(recording, options));
    const goal::Resolved resolved = ASSAY_TRY(goal::resolve(job, goal::Misfits::kLeaveOut));
    show_warnings(job.warnings);
    show_warnings(resolved.warnings);
    for (goal::Unit& unit : goal::find_units(resolved)) {
      const std::size_t first = std::min(skip, unit.occurrences.size() - 1);
      unit.occurrences.erase(unit.occurrences.begin(),
                             unit.occurrences.begin() + static_cast<std::ptrdiff_t>(first));
      units.push_back(std::move(unit));
    }
  }
  return goal::unit_models(std::move(units));
}

}  // namespace assay::cli
