// The event loop of some ranks of a schedule. Ranks meet only in messages, so that several engines
// may each run some of them, on threads of their own, for as long as no message is due between
// them. A network that contends, and messages that wait for their receive, need one engine for all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulate/events.h"
#include "simulate/matching.h"
#include "simulate/resources.h"
#include "simulate/simulate.h"

namespace assay::simulate {

// What the engines of a simulation have in common. An engine changes only what belongs to its own
// ranks and, of a send to one of them, the link to its receive.
struct Common {
  Common(const model::Schedule& a_schedule, const Network& a_network, Outcome& an_outcome)
      : schedule(a_schedule),
        network(a_network),
        outcome(an_outcome),
        matching(a_schedule.ranks().size()),
        resources(a_schedule.ranks().size()) {}

  const model::Schedule& schedule;
  const Network& network;
  Outcome& outcome;
  Matching matching;
  std::vector<Resources> resources;      // by rank
  std::vector<std::uint32_t> engine_of;  // by rank; empty: one engine runs all
};

class Engine {
 public:
  // `number` is the engine's own in Common::engine_of, `ranks` ascend.
  Engine(Common& common, std::uint32_t number, std::vector<std::uint32_t> ranks);

  // Looks at the operations of its ranks; then, when all engines have done so, makes ready for
  // them.
  void look();
  void prepare();

  // The time of its next event; kNeverNs without any.
  [[nodiscard]] std::int64_t next_ns();

  // Takes an arrival from another engine.
  void receive(const Event& arrival) { events_.push(arrival); }

  // Handles the events before `end_ns`, or fewer when the program is interrupted or the time
  // exceeds kForeverNs.
  void run(std::int64_t end_ns);

  // Ends the reports of a network that contends, when nothing more happens.
  void finish_network() {
    if (transfers_ != nullptr) transfers_->finish(now_ns_);
  }

  // Arrivals at ranks of other engines, which the caller takes.
  [[nodiscard]] std::vector<Event>& sent() { return sent_; }

  [[nodiscard]] bool too_long() const { return too_long_; }

  // Returns the send for which the network has no way, if there is one.
  [[nodiscard]] std::optional<OpId> unreachable() const {
    return transfers_ == nullptr ? std::nullopt : transfers_->unreachable();
  }

  [[nodiscard]] std::int64_t now_ns() const { return now_ns_; }

  [[nodiscard]] std::uint64_t operations_done() const { return operations_done_; }

  [[nodiscard]] std::uint64_t messages() const { return messages_; }

  // Receptions that have begun.
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  bool next(Event& event, std::int64_t end_ns);
  bool next_root(Event& event);
  void handle(const Event& event);

  void become_ready(OpId id, std::int64_t now_ns);
  void post(OpId id, std::int64_t now_ns);
  void arrive(const Event& event);
  void contend(OpId id, std::int64_t now_ns);
  void wake(const Event& event);

  [[nodiscard]] Needs needs(OpId id) const;
  void start(OpId id, Needs needs, std::int64_t now_ns);
  void note_wait(OpId id, Needs needs, std::int64_t now_ns);
  void start_calc(OpId id, Needs needs, std::int64_t now_ns);
  void start_send(OpId id, Needs needs, std::int64_t now_ns);
  void start_receive(OpId id, Needs needs, std::int64_t now_ns);
  void end_rendezvous();

  // Of a network that contends.
  [[nodiscard]] bool contends(std::uint32_t a, std::uint32_t b) const;
  void plan_changes();
  void change_links(std::int64_t now_ns);

  [[nodiscard]] bool failed(std::uint32_t rank, std::int64_t now_ns) const {
    return transfers_ != nullptr && transfers_->fabric().fails_ns(rank) <= now_ns;
  }

  void enter(OpId send, std::int64_t now_ns);
  void depart(std::int64_t now_ns);
  void deliver(std::int64_t now_ns);
  void settle_transfers();
  void plan_departure();
  void push_arrival(OpId send, std::int64_t arrival_ns);

  void finish(OpId id, std::int64_t end_ns);
  void release(OpId id, std::int64_t time_ns, Reason reason, std::uint32_t cause);
  void release_after_start(OpId id, std::int64_t now_ns);

  // Where Resources puts the wakes of a rank's operations.
  [[nodiscard]] auto later(std::uint32_t rank) {
    return [this, rank](const Wake& wake) {
      events_.push({.time_ns = wake.time_ns,
                    .rank = rank,
                    .kind = EventKind::kWake,
                    .first = wake.order,
                    .second = wake.resource});
    };
  }

  // A rendezvous whose receive begins at this moment. Its effect on the sender comes after
  // everything else of the moment; otherwise, in an exchange, the rank that is looked at first
  // would keep the other one from receiving.
  struct Rendezvous {
    OpId send;
    std::int64_t cpu_ns;
    std::int64_t nic_ns;
  };

  Common& common_;
  const model::Schedule& schedule_;
  const Network& network_;
  Outcome& outcome_;
  Record& record_;
  std::uint32_t number_;
  std::vector<std::uint32_t> ranks_;
  EventQueue events_;
  std::vector<Event> sent_;
  // The next of the operations that wait for nothing, in the order of their events at time 0.
  std::size_t root_rank_ = 0;  // in ranks_
  std::uint32_t next_root_ = 0;
  std::int64_t now_ns_ = 0;
  std::uint64_t events_done_ = 0;
  std::vector<Rendezvous> rendezvous_;
  std::uint64_t operations_done_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t received_ = 0;
  bool too_long_ = false;
  Transfers* transfers_;
  std::int64_t planned_departure_ns_ = -1;
  std::vector<Departure> departures_;
};

}  // namespace assay::simulate
