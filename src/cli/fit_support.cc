#include "cli/fit_support.h"

#include "cli/trace_options.h"
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
  std::vector<model::Warnings> warnings;
  auto units = goal::measured_units(recordings, options, skip, warnings);
  for (const model::Warnings& part : warnings)
    show_warnings(part);
  return units;
}

}  // namespace assay::cli
