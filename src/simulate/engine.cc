#include "simulate/engine.h"

#include <algorithm>
#include <utility>

#include "core/interrupt.h"

namespace assay::simulate {
namespace {

using model::OpKind;
using model::ScheduleOp;

constexpr std::uint64_t kEventsBetweenLooks = 1U << 16U;

}  // namespace

Engine::Engine(Common& common, std::uint32_t number, std::vector<std::uint32_t> ranks)
    : common_(common),
      schedule_(common.schedule),
      network_(common.network),
      outcome_(common.outcome),
      record_(common.outcome.record()),
      number_(number),
      ranks_(std::move(ranks)),
      transfers_(common.outcome.transfers()) {}

void Engine::look() {
  for (const std::uint32_t rank : ranks_) {
    unsigned cpus = 1;
    unsigned nics = 1;
    for (const ScheduleOp& op : schedule_.ranks()[rank].ops) {
      cpus = std::max(cpus, op.cpu + 1U);
      nics = std::max(nics, op.nic + 1U);
      common_.matching.note(rank, op);
    }
    common_.resources[rank] = Resources(cpus, nics);
    record_.prepare(rank);
  }
}

void Engine::prepare() {
  for (const std::uint32_t rank : ranks_)
    common_.matching.prepare(rank);
  if (transfers_ != nullptr) plan_changes();
}

bool Engine::next_root(Event& event) {
  const auto skipped = [&](std::uint32_t rank) {
    return failed(rank, 0) || next_root_ >= schedule_.ranks()[rank].roots.size();
  };
  while (root_rank_ < ranks_.size() && skipped(ranks_[root_rank_])) {
    ++root_rank_;
    next_root_ = 0;
  }
  if (root_rank_ >= ranks_.size()) return false;
  const std::uint32_t rank = ranks_[root_rank_];
  event = {.rank = rank, .first = schedule_.ranks()[rank].roots[next_root_].value};
  return true;
}

std::int64_t Engine::next_ns() {
  Event root;
  if (next_root(root)) return 0;
  return events_.empty() ? kNeverNs : events_.top().time_ns;
}

// The functions of the event loop are inline for speed: nothing outside this file calls them.

inline bool Engine::next(Event& event, std::int64_t end_ns) {
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
    if (!any || event.time_ns >= end_ns) return false;
    if (root) {
      ++next_root_;
    } else {
      events_.pop();
    }
    now_ns_ = event.time_ns;
    return true;
  }
}

inline void Engine::handle(const Event& event) {
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

void Engine::run(std::int64_t end_ns) {
  Event event;
  while (!too_long_ && !unreachable() && next(event, end_ns)) {
    handle(event);
    if (++events_done_ % kEventsBetweenLooks == 0 && core::interrupted()) break;
  }
}

inline void Engine::become_ready(OpId id, std::int64_t now_ns) {
  if (failed(id.rank, now_ns)) return;
  if (record_.op(id).kind == OpKind::kReceive) return post(id, now_ns);
  record_.state(id).set_phase(Phase::kReady);
  record_.state(id).link = kNone;
  contend(id, now_ns);
}

inline void Engine::post(OpId id, std::int64_t now_ns) {
  OpState& state = record_.state(id);
  // Operations that wait for the start of a receive wait for what made it ready, because its own
  // start becomes a later time below.
  for (const auto& dependent : schedule_.ranks()[id.rank].after_start(record_.op(id)))
    release({id.rank, dependent.value}, now_ns, state.reason(), state.cause);
  const OpId send = common_.matching.post(id, record_.op(id));
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

inline void Engine::arrive(const Event& event) {
  if (failed(event.rank, event.time_ns)) return;
  const OpId send{event.first, event.second};
  const OpId receive{event.rank, common_.matching.arrive(event.rank, send, record_.op(send))};
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

inline void Engine::contend(OpId id, std::int64_t now_ns) {
  Resources& resources = common_.resources[id.rank];
  const Needs wanted = needs(id);
  if (resources.ready(wanted, now_ns)) return start(id, wanted, now_ns);
  resources.wait(wanted, id.op, later(id.rank));
}

inline void Engine::wake(const Event& event) {
  if (failed(event.rank, event.time_ns)) return;
  Resources& resources = common_.resources[event.rank];
  const Wake wake{.time_ns = event.time_ns, .order = event.first, .resource = event.second};
  const OpId id{event.rank, resources.wake(wake, later(event.rank))};
  if (id.op == kNone) return;
  const Needs wanted = needs(id);
  note_wait(id, wanted, event.time_ns);
  start(id, wanted, event.time_ns);
  resources.settle(wake, later(event.rank));
}

inline Needs Engine::needs(OpId id) const {
  const ScheduleOp& op = record_.op(id);
  const Resources& resources = common_.resources[id.rank];
  switch (op.kind) {
    case OpKind::kCalc:
      return resources.calculation(op.cpu);
    case OpKind::kSend:
      return resources.send(op.cpu, op.nic);
    case OpKind::kReceive:
      break;
  }
  return resources.receive(op.cpu, op.nic);
}

inline void Engine::note_wait(OpId id, Needs needs, std::int64_t now_ns) {
  OpState& state = record_.state(id);
  if (state.time_ns() >= now_ns) return;
  const Resources& resources = common_.resources[id.rank];
  const bool by_cpu = resources.free_ns(needs.cpu) == now_ns;
  state.set_reason(by_cpu ? Reason::kCpu : Reason::kNic,
                   resources.holder(by_cpu ? needs.cpu : needs.nic));
}

inline void Engine::start(OpId id, Needs needs, std::int64_t now_ns) {
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

inline void Engine::start_calc(OpId id, Needs needs, std::int64_t now_ns) {
  const std::int64_t end = now_ns + record_.calc_ns(id);
  common_.resources[id.rank].take(needs.cpu, end, id.op);
  if (end < kForeverNs && failed(id.rank, end - 1)) return;  // it never ends
  release_after_start(id, now_ns);
  finish(id, end);
}

inline void Engine::start_send(OpId id, Needs needs, std::int64_t now_ns) {
  const ScheduleOp& op = record_.op(id);
  const Link& link = network_.between(id.rank, op.peer);
  const std::int64_t cpu_end = now_ns + link.cpu_ns(op.size);
  const std::int64_t bandwidth = link.bandwidth_ns(op.size);
  Resources& resources = common_.resources[id.rank];
  resources.take(needs.cpu, cpu_end, id.op);
  resources.take(needs.nic, now_ns + link.gap_ns + bandwidth, id.op);
  if (!contends(id.rank, op.peer)) {
    push_arrival(id, cpu_end + link.latency_ns + bandwidth);
  } else if (cpu_end > now_ns) {
    events_.push(
        {.time_ns = cpu_end, .kind = EventKind::kEntry, .first = id.rank, .second = id.op});
  } else {
    enter(id, now_ns);
  }
  ++messages_;
  release_after_start(id, now_ns);
  if (link.rendezvous(op.size)) {
    record_.state(id).set_phase(Phase::kSent);
  } else {
    finish(id, cpu_end);
  }
}

inline void Engine::push_arrival(OpId send, std::int64_t arrival_ns) {
  too_long_ |= arrival_ns > kForeverNs;
  const Event arrival{.time_ns = arrival_ns,
                      .rank = record_.op(send).peer,
                      .kind = EventKind::kArrival,
                      .first = send.rank,
                      .second = send.op};
  const std::uint32_t engine =
      common_.engine_of.empty() ? number_ : common_.engine_of[arrival.rank];
  if (engine == number_) {
    events_.push(arrival);
  } else {
    sent_.push_back(arrival);
  }
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

void Engine::plan_changes() {
  for (const std::int64_t time_ns : transfers_->fabric().change_times())
    events_.push({.time_ns = time_ns, .kind = EventKind::kChange});
}

void Engine::change_links(std::int64_t now_ns) {
  const bool done = operations_done_ == record_.num_ops() && received_ == messages_;
  if (!done) transfers_->change_links(now_ns);
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

// After everything else of the moment, because messages that enter or leave together need one look.
void Engine::settle_transfers() {
  transfers_->settle(now_ns_);
  plan_departure();
}

inline void Engine::start_receive(OpId id, Needs needs, std::int64_t now_ns) {
  const OpId send = record_.partner(id);
  const Link& link = network_.between(send.rank, id.rank);
  const std::uint64_t bytes = record_.op(send).size;
  const std::int64_t nic_end = now_ns + link.gap_ns;
  const std::int64_t cpu_end = nic_end + link.cpu_ns(bytes);
  Resources& resources = common_.resources[id.rank];
  resources.take(needs.cpu, cpu_end, id.op);
  resources.take(needs.nic, nic_end, id.op);
  ++received_;
  finish(id, cpu_end);
  if (link.rendezvous(bytes)) rendezvous_.push_back({send, cpu_end, nic_end});
}

void Engine::end_rendezvous() {
  for (const auto& [send, cpu_ns, nic_ns] : rendezvous_) {
    Resources& resources = common_.resources[send.rank];
    const Needs held = needs(send);
    resources.take(held.cpu, cpu_ns, send.op);
    resources.take(held.nic, nic_ns, send.op);
    finish(send, cpu_ns);
  }
  rendezvous_.clear();
}

void Engine::finish(OpId id, std::int64_t end_ns) {
  too_long_ |= end_ns > kForeverNs;
  record_.state(id).set_phase(Phase::kDone);
  ++operations_done_;
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

}  // namespace assay::simulate
