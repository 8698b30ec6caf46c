#include "simulate/simulate.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/interrupt.h"
#include "simulate/engine.h"

namespace assay::simulate {

Outcome::Outcome(const model::Schedule& schedule, const Network& network)
    : finish_ns(schedule.ranks().size()),
      last_op(schedule.ranks().size(), OpId{0, kNone}),
      network_(std::make_unique<const Network>(network)),
      record_(std::make_unique<Record>(schedule, *network_)) {}

std::int64_t Outcome::longest_ns() const {
  return finish_ns.empty() ? 0 : *std::max_element(finish_ns.begin(), finish_ns.end());
}

core::Result<Outcome> simulate(const model::Schedule& schedule, const Options& options) {
  const Network network = ASSAY_TRY(
      Network::make(options.inter, options.intra, options.node_of_rank, schedule.ranks().size()));
  Outcome outcome(schedule, network);
  Engine engine(schedule, network, outcome);
  engine.run();
  ASSAY_TRY(core::check_interrupt());
  if (engine.too_long()) {
    return core::Error{
        fmt::format("the schedule takes longer than {:.1f} years: are its sizes "
                    "bytes and its calculations nanoseconds?",
                    static_cast<double>(kForeverNs) * 1e-9 / 86400 / 365)};
  }
  return outcome;
}

}  // namespace assay::simulate
