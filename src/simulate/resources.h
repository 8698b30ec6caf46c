// CPUs and NICs of the ranks, and who waits for them.
//
// A calculation needs a CPU; a send a CPU and the sending side of a NIC; the reception of a message
// a CPU and the receiving side of a NIC. Operations of a rank that need the same ones form a queue:
// only its head can start next. A queue is parked at the one of its two resources that becomes free
// last, and looked at again when that happens. So a waiting operation costs nothing until its turn,
// however many wait.
//
// Of the operations that could start at the same time, the one that began to wait first goes first.
// Nothing is reserved: an operation that needs a CPU
// alone may start on it while the head of another queue still waits for its NIC.
#pragma once

#include <cstdint>
#include <vector>

#include "model/schedule.h"
#include "simulate/event_queue.h"
#include "simulate/record.h"

namespace assay::simulate {

// What an operation needs: numbers of resources and of the queue for just these.
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

  // True when the operation may start at once: nobody of its queue is before it.
  [[nodiscard]] bool ready(const Needs& needs, std::int64_t now_ns) const {
    return queues_[needs.queue].head == kNone && free_ns(needs) <= now_ns;
  }

  // Otherwise it lines up. May add a wake event to `events`.
  void wait(const Needs& needs, std::uint32_t op, EventQueue& events);

  // A wake event has come. Returns the operation that may start now, which has left its queue, or
  // kNone. After it has started, call settle() with the same event.
  std::uint32_t wake(const Event& event, EventQueue& events);
  void settle(const Event& event, EventQueue& events);

  // `op` keeps the resource until then.
  void take(std::uint32_t resource, std::uint32_t op, std::int64_t until_ns) {
    if (resources_[resource].free_ns <= until_ns) {
      resources_[resource].free_ns = until_ns;
      resources_[resource].holder = op;
    }
  }

  [[nodiscard]] std::int64_t free_ns(std::uint32_t resource) const {
    return resources_[resource].free_ns;
  }

  // Who took it last.
  [[nodiscard]] std::uint32_t holder(std::uint32_t resource) const {
    return resources_[resource].holder;
  }

 private:
  struct Resource {
    std::int64_t free_ns = 0;
    std::uint32_t holder = kNone;
    // The wake event that counts; others for this resource are out of date.
    std::uint32_t planned_order = kNone;
    std::int64_t planned_ns = 0;
    std::vector<std::uint32_t> parked = {};  // queues; a heap, first come first
  };

  struct Queue {
    std::uint32_t order = 0;     // of the operation at its head
    std::uint32_t head = kNone;  // nodes of waiters_
    std::uint32_t tail = kNone;
    std::uint32_t cpu = 0;
    std::uint32_t nic = kNone;
  };

  struct Waiter {
    std::uint32_t op;
    std::uint32_t order;  // counts those of the rank that had to wait
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
