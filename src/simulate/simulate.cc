#include "simulate/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/interrupt.h"
#include "simulate/matching.h"
#include "simulate/resources.h"
#include "simulate/stuck.h"

namespace assay::simulate {
namespace {

using model::OpKind;
using model::ScheduleOp;

constexpr std::uint64_t kEventsBetweenLooks = 1U << 16U;

// The event loop of a simulation.
class Engine {
 public:
  Engine(const model::Schedule& schedule, const Network& network, Outcome& outcome);

  // Runs until nothing more can happen, the program is interrupted, or the time exceeds kForeverNs.
  void run();

  [[nodiscard]] bool too_long() const { return too_long_; }

  // Returns the send for which the network has no way, if there is one.
  [[nodiscard]] std::optional<OpId> unreachable() const {
    return transfers_ == nullptr ? std::nullopt : transfers_->unreachable();
  }

  [[nodiscard]] std::int64_t now_ns() const { return now_ns_; }

 private:
  bool next(Event& event);
  bool next_root(Event& event);
  void handle(const Event& event);

  void become_ready(OpId id, std::int64_t now_ns);
  void post(OpId id, std::int64_t now_ns);
  void arrive(const Event& event);
  void contend(OpId id, std::int64_t now_ns);
  void wake(const Event& event);

  void start(OpId id, const Needs& needs, std::int64_t now_ns);
  void note_wait(OpState& state, const Needs& needs, std::int64_t now_ns) const;
  void start_calc(OpId id, const Needs& needs, std::int64_t now_ns);
  void start_send(OpId id, const Needs& needs, std::int64_t now_ns);
  void start_receive(OpId id, const Needs& needs, std::int64_t now_ns);
  void end_rendezvous();

  // Of a network that contends.
  [[nodiscard]] bool contends(std::uint32_t a, std::uint32_t b) const;
  void plan_changes();
  void change_links(std::int64_t now_ns);
  [[nodiscard]] bool failed(std::uint32_t rank, std::int64_t now_ns) const;
  void enter(OpId send, std::int64_t now_ns);
  void depart(std::int64_t now_ns);
  void deliver(std::int64_t now_ns);
  void settle_transfers();
  void plan_departure();
  void push_arrival(OpId send, std::int64_t arrival_ns);

  void finish(OpId id, std::int64_t end_ns);
  void release(OpId id, std::int64_t time_ns, Reason reason, std::uint32_t cause);
  void release_after_start(OpId id, std::int64_t now_ns);

  // A rendezvous whose receive begins at this moment. Its effect on the sender comes after
  // everything else of the moment; otherwise, in an exchange, the rank that is looked at first
  // would keep the other one from receiving.
  struct Rendezvous {
    OpId send;
    std::int64_t cpu_ns;
    std::int64_t nic_ns;
  };

  const model::Schedule& schedule_;
  const Network& network_;
  Outcome& outcome_;
  Record& record_;
  EventQueue events_;
  Matching matching_;
  Resources resources_;
  // The next of the operations that wait for nothing, in the order of their events at time 0.
  std::uint32_t root_rank_ = 0;
  std::uint32_t next_root_ = 0;
  std::int64_t now_ns_ = 0;
  std::vector<Rendezvous> rendezvous_;
  std::uint64_t unreceived_ = 0;
  bool too_long_ = false;
  Transfers* transfers_;
  std::int64_t planned_departure_ns_ = -1;
  std::vector<Departure> departures_;
};

Engine::Engine(const model::Schedule& schedule, const Network& network, Outcome& outcome)
    : schedule_(schedule),
      network_(network),
      outcome_(outcome),
      record_(outcome.record()),
      matching_(schedule),
      resources_(schedule),
      transfers_(outcome.transfers()) {}

bool Engine::next_root(Event& event) {
  const auto& ranks = schedule_.ranks();
  const auto skipped = [&] {
    return failed(root_rank_, 0) || next_root_ >= ranks[root_rank_].roots.size();
  };
  while (root_rank_ < ranks.size() && skipped()) {
    ++root_rank_;
    next_root_ = 0;
  }
  if (root_rank_ >= ranks.size()) return false;
  event = {.rank = root_rank_, .first = ranks[root_rank_].roots[next_root_].value};
  return true;
}

bool Engine::next(Event& event) {
  for (;;) {
    const bool root = next_root(event) && (events_.empty() || before(event, events_.top()));
    if (!root && !events_.empty()) event = events_.top();
    const bool any = root || !events_.empty();
    if (!rendezvous_.empty() && (!any || event.time_ns > now_ns_)) {
      end_rendezvous();
      continue;
    }
    if (transfers_ != nullptr && transfers_->dirty() && (!any || event.time_ns > now_ns_)) {
      settle_transfers();
      continue;
    }
    if (!any) return false;
    if (root) {
      ++next_root_;
    } else {
      events_.pop();
    }
    now_ns_ = event.time_ns;
    return true;
  }
}

bool Engine::failed(std::uint32_t rank, std::int64_t now_ns) const {
  return transfers_ != nullptr && transfers_->fabric().fails_ns(rank) <= now_ns;
}

void Engine::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kDeparture:
      return depart(event.time_ns);
    case EventKind::kChange:
      return change_links(event.time_ns);
    case EventKind::kEntry:
      return enter({event.first, event.second}, event.time_ns);
    case EventKind::kReady:
      return become_ready({event.rank, event.first}, event.time_ns);
    case EventKind::kArrival:
      return arrive(event);
    case EventKind::kWake:
      return wake(event);
  }
}

void Engine::run() {
  if (transfers_ != nullptr) plan_changes();
  Event event;
  for (std::uint64_t count = 1; !too_long_ && !unreachable() && next(event); ++count) {
    handle(event);
    if (count % kEventsBetweenLooks == 0 && core::interrupted()) return;
  }
  if (transfers_ != nullptr) transfers_->finish(now_ns_);
  outcome_.events = outcome_.operations_done + outcome_.messages;
  outcome_.finished = outcome_.operations_done == record_.num_ops() && unreceived_ == 0;
}

void Engine::become_ready(OpId id, std::int64_t now_ns) {
  if (failed(id.rank, now_ns)) return;
  if (record_.op(id).kind == OpKind::kReceive) return post(id, now_ns);
  record_.state(id).set_phase(Phase::kReady);
  record_.state(id).link = kNone;
  contend(id, now_ns);
}

void Engine::post(OpId id, std::int64_t now_ns) {
  OpState& state = record_.state(id);
  // Operations that wait for the start of a receive wait for what made it ready, because its own
  // start becomes a later time below.
  for (const auto& dependent : schedule_.ranks()[id.rank].after_start(record_.op(id)))
    release({id.rank, dependent.value}, now_ns, state.reason(), state.cause);
  const OpId send = matching_.post(id, record_.op(id));
  state.link = send.op;
  if (send.op == kNone) {
    state.set_phase(Phase::kPosted);
    return;
  }
  state.set_phase(Phase::kReady);
  record_.set_source(id, send.rank);
  record_.state(send).link = id.op;
  contend(id, now_ns);
}

void Engine::arrive(const Event& event) {
  if (failed(event.rank, event.time_ns)) return;
  const OpId send{event.first, event.second};
  const OpId receive{event.rank, matching_.arrive(event.rank, send, record_.op(send))};
  if (receive.op == kNone) return;
  OpState& state = record_.state(receive);
  state.set_time_ns(event.time_ns);
  state.set_phase(Phase::kReady);
  state.set_reason(Reason::kMessage, send.op);
  state.link = send.op;
  record_.set_source(receive, send.rank);
  record_.state(send).link = receive.op;
  contend(receive, event.time_ns);
}

void Engine::contend(OpId id, std::int64_t now_ns) {
  const Needs needs = resources_.needs(id.rank, record_.op(id));
  if (resources_.ready(needs, now_ns)) return start(id, needs, now_ns);
  resources_.wait(needs, id.op, events_);
}

void Engine::wake(const Event& event) {
  if (failed(event.rank, event.time_ns)) return;
  const OpId id{event.rank, resources_.wake(event, events_)};
  if (id.op == kNone) return;
  const Needs needs = resources_.needs(id.rank, record_.op(id));
  OpState& state = record_.state(id);
  note_wait(state, needs, event.time_ns);
  start(id, needs, event.time_ns);
  resources_.settle(event, events_);
}

void Engine::note_wait(OpState& state, const Needs& needs, std::int64_t now_ns) const {
  if (state.time_ns() >= now_ns) return;
  const bool by_cpu = resources_.free_ns(needs.cpu) == now_ns;
  state.set_reason(by_cpu ? Reason::kCpu : Reason::kNic,
                   resources_.holder(by_cpu ? needs.cpu : needs.nic));
}

void Engine::start(OpId id, const Needs& needs, std::int64_t now_ns) {
  record_.state(id).set_time_ns(now_ns);
  switch (record_.op(id).kind) {
    case OpKind::kCalc:
      return start_calc(id, needs, now_ns);
    case OpKind::kSend:
      return start_send(id, needs, now_ns);
    case OpKind::kReceive:
      return start_receive(id, needs, now_ns);
  }
}

void Engine::release_after_start(OpId id, std::int64_t now_ns) {
  for (const auto& dependent : schedule_.ranks()[id.rank].after_start(record_.op(id)))
    release({id.rank, dependent.value}, now_ns, Reason::kAfterStart, id.op);
}

void Engine::start_calc(OpId id, const Needs& needs, std::int64_t now_ns) {
  const std::int64_t end = now_ns + record_.calc_ns(id);
  resources_.take(needs.cpu, id.op, end);
  release_after_start(id, now_ns);
  if (end < kForeverNs && failed(id.rank, end - 1)) return;  // it never ends
  finish(id, end);
}

void Engine::start_send(OpId id, const Needs& needs, std::int64_t now_ns) {
  const ScheduleOp& op = record_.op(id);
  const Link& link = network_.between(id.rank, op.peer);
  const std::int64_t cpu_end = now_ns + link.cpu_ns(op.size);
  const std::int64_t bandwidth = link.bandwidth_ns(op.size);
  resources_.take(needs.cpu, id.op, cpu_end);
  resources_.take(needs.nic, id.op, now_ns + link.gap_ns + bandwidth);
  if (!contends(id.rank, op.peer)) {
    push_arrival(id, cpu_end + link.latency_ns + bandwidth);
  } else if (cpu_end > now_ns) {
    events_.push(
        {.time_ns = cpu_end, .kind = EventKind::kEntry, .first = id.rank, .second = id.op});
  } else {
    enter(id, now_ns);
  }
  ++outcome_.messages;
  ++unreceived_;
  release_after_start(id, now_ns);
  if (link.rendezvous(op.size)) {
    record_.state(id).set_phase(Phase::kSent);
  } else {
    finish(id, cpu_end);
  }
}

void Engine::push_arrival(OpId send, std::int64_t arrival_ns) {
  too_long_ |= arrival_ns > kForeverNs;
  events_.push({.time_ns = arrival_ns,
                .rank = record_.op(send).peer,
                .kind = EventKind::kArrival,
                .first = send.rank,
                .second = send.op});
}

bool Engine::contends(std::uint32_t a, std::uint32_t b) const {
  if (transfers_ == nullptr || a == b) return false;
  return transfers_->fabric().has_nvlink() || !transfers_->fabric().same_domain(a, b);
}

void Engine::enter(OpId send, std::int64_t now_ns) {
  const ScheduleOp& op = record_.op(send);
  const Transfers::Start start{
      .send = send,
      .message = {send.rank, op.peer, op.nic, op.cpu, op.size},
      .work_ns = network_.between(send.rank, op.peer).bandwidth_ns(op.size)};
  too_long_ |= start.work_ns > kForeverNs;
  if (too_long_) return;
  departures_.clear();
  transfers_->start(start, now_ns, departures_);
  deliver(now_ns);
}

void Engine::deliver(std::int64_t now_ns) {
  for (const Departure& departure : departures_) {
    record_.set_passage(departure.send,
                        {departure.transfer_ns, departure.lost_ns, departure.behind});
    push_arrival(departure.send, now_ns + departure.latency_ns);
  }
}

void Engine::depart(std::int64_t now_ns) {
  departures_.clear();
  transfers_->end(now_ns, departures_);
  deliver(now_ns);
  if (planned_departure_ns_ == now_ns) planned_departure_ns_ = -1;
  if (!transfers_->dirty()) plan_departure();
}

void Engine::plan_departure() {
  const std::int64_t next_ns = transfers_->next_end_ns();
  if (next_ns < 0 || next_ns == planned_departure_ns_) return;
  planned_departure_ns_ = next_ns;
  events_.push({.time_ns = next_ns, .kind = EventKind::kDeparture});
}

void Engine::plan_changes() {
  for (const std::int64_t time_ns : transfers_->fabric().change_times())
    events_.push({.time_ns = time_ns, .kind = EventKind::kChange});
}

void Engine::change_links(std::int64_t now_ns) {
  const bool done = outcome_.operations_done == record_.num_ops() && unreceived_ == 0;
  if (!done) transfers_->change_links(now_ns);
}

// After everything else of the moment, because messages that enter or leave together need one look.
void Engine::settle_transfers() {
  transfers_->settle(now_ns_);
  plan_departure();
}

void Engine::start_receive(OpId id, const Needs& needs, std::int64_t now_ns) {
  const OpId send = record_.partner(id);
  const Link& link = network_.between(send.rank, id.rank);
  const std::uint64_t bytes = record_.op(send).size;
  const std::int64_t nic_end = now_ns + link.gap_ns;
  const std::int64_t cpu_end = nic_end + link.cpu_ns(bytes);
  resources_.take(needs.cpu, id.op, cpu_end);
  resources_.take(needs.nic, id.op, nic_end);
  --unreceived_;
  finish(id, cpu_end);
  if (link.rendezvous(bytes)) rendezvous_.push_back({send, cpu_end, nic_end});
}

void Engine::end_rendezvous() {
  for (const auto& [send, cpu_ns, nic_ns] : rendezvous_) {
    const Needs needs = resources_.needs(send.rank, record_.op(send));
    resources_.take(needs.cpu, send.op, cpu_ns);
    resources_.take(needs.nic, send.op, nic_ns);
    finish(send, cpu_ns);
  }
  rendezvous_.clear();
}

void Engine::finish(OpId id, std::int64_t end_ns) {
  too_long_ |= end_ns > kForeverNs;
  record_.state(id).set_phase(Phase::kDone);
  ++outcome_.operations_done;
  std::int64_t& last_ns = outcome_.finish_ns[id.rank];
  if (end_ns >= last_ns) {
    last_ns = end_ns;
    outcome_.last_op[id.rank] = id;
  }
  for (const auto& dependent : schedule_.ranks()[id.rank].after_finish(record_.op(id)))
    release({id.rank, dependent.value}, end_ns, Reason::kAfterFinish, id.op);
}

void Engine::release(OpId id, std::int64_t time_ns, Reason reason, std::uint32_t cause) {
  OpState& state = record_.state(id);
  if (time_ns > state.time_ns()) {
    state.set_time_ns(time_ns);
    state.set_reason(reason, cause);
  }
  if (--state.link > 0) return;
  events_.push(
      {.time_ns = state.time_ns(), .rank = id.rank, .kind = EventKind::kReady, .first = id.op});
}

}  // namespace

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

}  // namespace

core::Result<Outcome> simulate(const model::Schedule& schedule, const Options& options) {
  const std::size_t num_ranks = schedule.ranks().size();
  auto fabric = ASSAY_TRY(fabric_of(options, num_ranks));
  const Network network = ASSAY_TRY(network_of(options, fabric.get(), num_ranks));
  Outcome outcome(schedule, network, std::move(fabric));
  Engine engine(schedule, network, outcome);
  engine.run();
  ASSAY_TRY(core::check_interrupt());
  if (engine.unreachable()) {
    return unreachable_error(outcome, *engine.unreachable(), engine.now_ns());
  }
  if (engine.too_long()) {
    return core::Error{
        fmt::format("the schedule takes longer than {:.1f} years: are its sizes "
                    "bytes and its calculations nanoseconds?",
                    static_cast<double>(kForeverNs) * 1e-9 / 86400 / 365)};
  }
  return outcome;
}

}  // namespace assay::simulate
