// The CPUs and NICs of one rank, and the tasks that wait for them; the rules are those of
// resources.h. A calculation needs a CPU; a send needs a CPU and the sending side of a NIC; the
// reception of a message needs a CPU and the receiving side of a NIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulate/rank_events.h"
#include "simulate/record.h"

namespace assay::simulate {

// The numbers of a task's resources, and of the queue for just these.
struct RankNeeds {
  std::uint16_t cpu = 0;
  std::uint16_t nic = kNoNic;
  std::uint32_t queue = 0;

  static constexpr std::uint16_t kNoNic = 0xFFFF;
};

class RankResources {
 public:
  RankResources(unsigned cpus, unsigned nics) : cpus_(cpus), nics_(nics) {
    resources_.resize(cpus + std::size_t{2} * nics);
    for (unsigned cpu = 0; cpu < cpus; ++cpu) {
      queues_.push_back({.cpu = static_cast<std::uint16_t>(cpu)});
      for (unsigned nic = 0; nic < 2 * nics; ++nic) {
        queues_.push_back({.cpu = static_cast<std::uint16_t>(cpu),
                           .nic = static_cast<std::uint16_t>(cpus + nic)});
      }
    }
  }

  [[nodiscard]] RankNeeds calculation(unsigned cpu) const {
    return {.cpu = static_cast<std::uint16_t>(cpu), .queue = cpu * (1 + 2 * nics_)};
  }

  [[nodiscard]] RankNeeds send(unsigned cpu, unsigned nic) const { return message(cpu, nic); }

  [[nodiscard]] RankNeeds receive(unsigned cpu, unsigned nic) const {
    return message(cpu, nic + nics_);
  }

  // Returns whether a task may start at once: none of its queue is before it.
  [[nodiscard]] bool ready(const RankNeeds& needs, std::int64_t now_ns) const {
    return queues_[needs.queue].head == kNone && free_ns(needs) <= now_ns;
  }

  void take(std::uint16_t resource, std::int64_t until_ns) {
    std::int64_t& free_ns = resources_[resource].free_ns;
    free_ns = std::max(free_ns, until_ns);
  }

  // Puts the task into its queue. May add a wake event.
  void wait(const RankNeeds& needs, std::uint32_t task, RankEvents& events);

  // Handles a wake event. Returns the task that may start now, which has left its queue, or kNone.
  // After it has started, call settle() with the same event.
  std::uint32_t wake(const RankEvent& event, RankEvents& events);
  void settle(const RankEvent& event, RankEvents& events);

 private:
  struct Resource {
    std::int64_t free_ns = 0;
    // The wake event that is valid; others for this resource are out of date.
    std::int64_t planned_ns = 0;
    std::uint32_t planned_order = kNone;
    std::vector<std::uint32_t> parked = {};  // a heap of queues, first come first
  };

  struct Queue {
    std::uint32_t order = 0;     // order of the task at its head
    std::uint32_t head = kNone;  // indices into waiters_
    std::uint32_t tail = kNone;
    std::uint16_t cpu = 0;
    std::uint16_t nic = RankNeeds::kNoNic;
  };

  struct Waiter {
    std::uint32_t task;
    std::uint32_t order;  // its number among the tasks that had to wait
    std::uint32_t next;
  };

  [[nodiscard]] RankNeeds message(unsigned cpu, unsigned side) const {
    return {.cpu = static_cast<std::uint16_t>(cpu),
            .nic = static_cast<std::uint16_t>(cpus_ + side),
            .queue = cpu * (1 + 2 * nics_) + 1 + side};
  }

  [[nodiscard]] std::int64_t free_ns(const RankNeeds& needs) const {
    const std::int64_t cpu = resources_[needs.cpu].free_ns;
    return needs.nic == RankNeeds::kNoNic ? cpu : std::max(cpu, resources_[needs.nic].free_ns);
  }

  [[nodiscard]] bool comes_later(std::uint32_t queue, std::uint32_t other) const {
    return queues_[queue].order > queues_[other].order;
  }

  void append(Queue& queue, const Waiter& waiter);
  void remove_head(Queue& queue);
  void park(std::uint32_t queue, RankEvents& events);
  void plan_wake(std::uint16_t resource, RankEvents& events);
  std::uint32_t unpark_first(Resource& resource);

  unsigned cpus_;
  unsigned nics_;
  std::uint32_t waited_ = 0;
  std::vector<Resource> resources_;
  std::vector<Queue> queues_;
  std::vector<Waiter> waiters_;
  std::uint32_t free_waiters_ = kNone;
  std::uint32_t woken_queue_ = kNone;
};

}  // namespace assay::simulate
