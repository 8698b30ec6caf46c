// The next events of a simulation. Events at the same time have a fixed order, so that a simulation
// has one result: first what happens in the network (which has the rank 0); then by rank; then
// waiters for a resource, in the order in which they began to wait; then operations that have just
// become ready, by number; then messages, by source and number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/schedule.h"
#include "simulate/event_heap.h"
#include "simulate/record.h"

namespace assay::simulate {

enum class EventKind : std::uint32_t {
  kDeparture,  // messages leave a network that contends
  kChange,     // links of that network become slower or faster, fail or come back
  kEntry,      // operation `second` of rank `first` gives its message to that network
  kWake,     // resource `second` may be free for the operation that began to wait as number `first`
  kReady,    // operation `first` has nothing left to wait for
  kArrival,  // operation `second` of rank `first` sent a message that is here now
};

struct Event {
  std::int64_t time_ns = 0;
  std::uint32_t rank = 0;
  EventKind kind = EventKind::kReady;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

inline bool before(const Event& a, const Event& b) {
  if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.first != b.first) return a.first < b.first;
  return a.second < b.second;
}

using EventQueue = EventHeap<Event>;

// The CPUs and NICs of the ranks, and the operations that wait for them.
//
// A calculation needs a CPU; a send needs a CPU and the sending side of a NIC; the reception of a
// message needs a CPU and the receiving side of a NIC. Operations of a rank with the same needs
// form a queue, of which only the head can start next. A queue is parked at the one of its two
// resources that becomes free last, and is looked at again when that happens. So a waiting
// operation costs nothing until its turn, however many wait.
//
// If several operations could start at the same time, the one that began to wait first starts
// first. Nothing is reserved: an operation that needs only a CPU may start on it while the head of
// another queue still waits for its NIC.

// The needs of an operation: the numbers of its resources, and of the queue for just these.
struct Needs {
  std::uint32_t rank = 0;
  std::uint32_t cpu = 0;
  std::uint32_t nic = kNone;
  std::uint32_t queue = 0;
};

class Resources {
 public:
  explicit Resources(const model::Schedule& schedule);

  [[nodiscard]] Needs needs(std::uint32_t rank, const model::ScheduleOp& op) const;

  // Returns whether the operation may start at once: none of its queue is before it.
  [[nodiscard]] bool ready(const Needs& needs, std::int64_t now_ns) const {
    return queues_[needs.queue].head == kNone && free_ns(needs) <= now_ns;
  }

  // Puts the operation into its queue. May add a wake event to `events`.
  void wait(const Needs& needs, std::uint32_t op, EventQueue& events);

  // Handles a wake event. Returns the operation that may start now, which has left its queue, or
  // kNone. After it has started, call settle() with the same event.
  std::uint32_t wake(const Event& event, EventQueue& events);
  void settle(const Event& event, EventQueue& events);

  // Lets `op` keep the resource until then.
  void take(std::uint32_t resource, std::uint32_t op, std::int64_t until_ns) {
    if (resources_[resource].free_ns <= until_ns) {
      resources_[resource].free_ns = until_ns;
      resources_[resource].holder = op;
    }
  }

  [[nodiscard]] std::int64_t free_ns(std::uint32_t resource) const {
    return resources_[resource].free_ns;
  }

  // Returns the operation that took the resource last.
  [[nodiscard]] std::uint32_t holder(std::uint32_t resource) const {
    return resources_[resource].holder;
  }

 private:
  struct Resource {
    std::int64_t free_ns = 0;
    std::uint32_t holder = kNone;
    // The wake event that is valid; others for this resource are out of date.
    std::uint32_t planned_order = kNone;
    std::int64_t planned_ns = 0;
    std::vector<std::uint32_t> parked = {};  // a heap of queues, first come first
  };

  struct Queue {
    std::uint32_t order = 0;     // order of the operation at its head
    std::uint32_t head = kNone;  // indices into waiters_
    std::uint32_t tail = kNone;
    std::uint32_t cpu = 0;
    std::uint32_t nic = kNone;
  };

  struct Waiter {
    std::uint32_t op;
    std::uint32_t order;  // its number among the operations of the rank that had to wait
    std::uint32_t next;
  };

  struct RankPart {
    std::uint32_t first_resource = 0;
    std::uint32_t first_queue = 0;
    std::uint32_t cpus = 1;
    std::uint32_t nics = 1;
    std::uint32_t waited = 0;
  };

  [[nodiscard]] std::int64_t free_ns(const Needs& needs) const;
  void add_rank(const model::RankView& view);
  void append(Queue& queue, const Waiter& waiter);
  void remove_head(Queue& queue);
  void park(std::uint32_t rank, std::uint32_t queue, EventQueue& events);
  void plan_wake(std::uint32_t rank, std::uint32_t resource, EventQueue& events);
  [[nodiscard]] bool comes_later(std::uint32_t queue, std::uint32_t other) const;
  std::uint32_t unpark_first(Resource& resource);

  std::vector<RankPart> ranks_;
  std::vector<Resource> resources_;
  std::vector<Queue> queues_;
  std::vector<Waiter> waiters_;
  std::uint32_t free_waiters_ = kNone;
  std::uint32_t woken_queue_ = kNone;
};

}  // namespace assay::simulate
