#include "simulate/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/interrupt.h"
#include "simulate/engine.h"
#include "simulate/side_by_side.h"
#include "simulate/stuck.h"

namespace assay::simulate {

Outcome::Outcome(const model::Schedule& schedule,
                 const Network& network,
                 std::unique_ptr<Fabric> fabric)
    : finish_ns(schedule.ranks().size()),
      last_op(schedule.ranks().size(), OpId{0, kNone}),
      network_(std::make_unique<const Network>(network)),
      transfers_(fabric ? std::make_unique<Transfers>(std::move(fabric)) : nullptr),
      record_(std::make_unique<Record>(
          schedule, *network_, transfers_ ? &transfers_->fabric() : nullptr)) {}

std::int64_t Outcome::longest_ns() const {
  return finish_ns.empty() ? 0 : *std::max_element(finish_ns.begin(), finish_ns.end());
}

namespace {

// The parameters that the network file does not replace, as one network.
core::Result<Network> network_of(const Options& options,
                                 const Fabric* fabric,
                                 std::size_t num_ranks) {
  if (fabric == nullptr) {
    return Network::make(options.inter, options.intra, options.node_of_rank, num_ranks);
  }
  const FabricParameters& parameters = fabric->parameters();
  Network network = ASSAY_TRY(
      Network::make(parameters.inter, parameters.intra, fabric->domain_of_rank(), num_ranks));
  network.set_packets(fabric->packets());
  return network;
}

core::Result<std::unique_ptr<Fabric>> fabric_of(const Options& options, std::size_t num_ranks) {
  if (!options.fabric) return std::unique_ptr<Fabric>();
  // Refuses wrong parameters in the words of those who gave them.
  const auto good = Network::make(options.inter, options.intra, {}, num_ranks);
  if (!good.ok()) return good.error();
  const FabricJob job{.num_ranks = static_cast<std::uint32_t>(num_ranks),
                      .node_of_rank = options.node_of_rank,
                      .parameters = {options.inter, options.intra}};
  return std::make_unique<Fabric>(ASSAY_TRY(Fabric::make(*options.fabric, job)));
}

core::Error unreachable_error(const Outcome& outcome, OpId send, std::int64_t now_ns) {
  const model::ScheduleOp& op = outcome.record().op(send);
  const Fabric& fabric = outcome.transfers()->fabric();
  return core::Error{
      fmt::format("no way is left from {} of rank {} to {} of rank {} at {} ns for {}",
                  fabric.nic_name(send.rank, op.nic), send.rank, fabric.nic_name(op.peer, op.nic),
                  +op.peer, now_ns, describe(outcome.record(), send))};
}

core::Error too_long_error() {
  return core::Error{
      fmt::format("the schedule takes longer than {:.1f} years: are its sizes "
                  "bytes and its calculations nanoseconds?",
                  static_cast<double>(kForeverNs) * 1e-9 / 86400 / 365)};
}

// Ends the outcome with what the engines counted.
core::Status conclude(const std::vector<std::unique_ptr<Engine>>& engines, Outcome& outcome) {
  std::uint64_t received = 0;
  for (const auto& engine : engines) {
    if (engine->unreachable())
      return unreachable_error(outcome, *engine->unreachable(), engine->now_ns());
    if (engine->too_long()) return too_long_error();
    outcome.operations_done += engine->operations_done();
    outcome.messages += engine->messages();
    received += engine->received();
  }
  outcome.events = outcome.operations_done + outcome.messages;
  outcome.finished =
      outcome.operations_done == outcome.record().num_ops() && received == outcome.messages;
  return {};
}

}  // namespace

core::Result<Outcome> simulate(const model::Schedule& schedule,
                               const Options& options,
                               unsigned threads) {
  const std::size_t num_ranks = schedule.ranks().size();
  auto fabric = ASSAY_TRY(fabric_of(options, num_ranks));
  const Network network = ASSAY_TRY(network_of(options, fabric.get(), num_ranks));
  Outcome outcome(schedule, network, std::move(fabric));
  Common common(schedule, network, outcome);
  std::vector<std::unique_ptr<Engine>> engines = run_engines(common, threads);
  ASSAY_TRY(core::check_interrupt());
  ASSAY_TRY(conclude(engines, outcome));
  return outcome;
}

}  // namespace assay::simulate
