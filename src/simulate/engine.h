// The event loop of a simulation.
#pragma once

#include <cstdint>

#include "simulate/event_queue.h"
#include "simulate/matching.h"
#include "simulate/resources.h"
#include "simulate/simulate.h"

namespace assay::simulate {

class Engine {
 public:
  Engine(const model::Schedule& schedule, const Network& network, Outcome& outcome);

  // Until nothing more can happen, the program is interrupted or the time runs out.
  void run();

  [[nodiscard]] bool too_long() const { return too_long_; }

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

  void finish(OpId id, std::int64_t end_ns);
  void release(OpId id, std::int64_t time_ns, Reason reason, std::uint32_t cause);
  void release_after_start(OpId id, std::int64_t now_ns);

  // A rendezvous whose receive begins at this moment. What that does to its sender comes after all
  // else of the moment: or in an exchange the rank that is looked at first would keep the other
  // one from receiving.
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
  // Operations that wait for nothing, in the order of their events at time 0.
  std::uint32_t root_rank_ = 0;
  std::uint32_t next_root_ = 0;
  std::int64_t now_ns_ = 0;
  std::vector<Rendezvous> rendezvous_;
  std::uint64_t unreceived_ = 0;
  bool too_long_ = false;
};

}  // namespace assay::simulate
