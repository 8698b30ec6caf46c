// The CPUs and NICs of one rank, and the tasks that wait for them. What a task is, its owner knows:
// here it is a number.
//
// A calculation needs a CPU; a send needs a CPU and the sending side of a NIC; the reception of a
// message needs a CPU and the receiving side of a NIC. Tasks with the same needs form a queue, of
// which only the head can start next. A queue is parked at the one of its two resources that
// becomes free last, and is looked at again when that happens. So a waiting task costs nothing
// until its turn, however many wait.
//
// If several tasks could start at the same time, the one that began to wait first starts first.
// Nothing is reserved: a task that needs only a CPU may start on it while the head of another queue
// still waits for its NIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulate/record.h"

namespace assay::simulate {

// The numbers of a task's resources, and of the queue for just these.
struct Needs {
  std::uint16_t cpu = 0;
  std::uint16_t nic = kNoNic;
  std::uint32_t queue = 0;

  static constexpr std::uint16_t kNoNic = 0xFFFF;
};

// When a resource may be free for the task that began to wait as number `order`.
struct Wake {
  std::int64_t time_ns = 0;
  std::uint32_t order = 0;
  std::uint32_t resource = 0;
};

// A Later is called with each Wake, and has wake() called at its time; wakes of one time come by
// order and resource.
class Resources {
 public:
  Resources() = default;

  // The resources are the CPUs, the sending sides of the NICs and their receiving sides. The queues
  // are, for each CPU, the calculations, then the sends of each NIC, then the receptions of each.
  Resources(unsigned cpus, unsigned nics) : cpus_(cpus), nics_(nics) {
    resources_.resize(cpus + std::size_t{2} * nics);
    queues_.reserve(cpus * (1 + std::size_t{2} * nics));
    for (unsigned cpu = 0; cpu < cpus; ++cpu) {
      queues_.push_back({.cpu = static_cast<std::uint16_t>(cpu)});
      for (unsigned nic = 0; nic < 2 * nics; ++nic) {
        queues_.push_back({.cpu = static_cast<std::uint16_t>(cpu),
                           .nic = static_cast<std::uint16_t>(cpus + nic)});
      }
    }
  }

  [[nodiscard]] Needs calculation(unsigned cpu) const {
    return {.cpu = static_cast<std::uint16_t>(cpu), .queue = cpu * (1 + 2 * nics_)};
  }

  [[nodiscard]] Needs send(unsigned cpu, unsigned nic) const { return message(cpu, nic); }

  [[nodiscard]] Needs receive(unsigned cpu, unsigned nic) const {
    return message(cpu, nic + nics_);
  }

  // Returns whether a task may start at once: none of its queue is before it.
  [[nodiscard]] bool ready(const Needs& needs, std::int64_t now_ns) const {
    return queues_[needs.queue].head == kNone && free_ns(needs) <= now_ns;
  }

  // Lets a task keep the resource until then.
  void take(std::uint16_t resource, std::int64_t until_ns, std::uint32_t task = kNone) {
    Resource& self = resources_[resource];
    if (self.free_ns > until_ns) return;
    self.free_ns = until_ns;
    self.holder = task;
  }

  [[nodiscard]] std::int64_t free_ns(std::uint16_t resource) const {
    return resources_[resource].free_ns;
  }

  // Returns the task that took the resource last, as take() was told.
  [[nodiscard]] std::uint32_t holder(std::uint16_t resource) const {
    return resources_[resource].holder;
  }

  // Puts the task into its queue.
  template <class Later>
  void wait(const Needs& needs, std::uint32_t task, const Later& later) {
    Queue& queue = queues_[needs.queue];
    const bool first = queue.head == kNone;
    append(queue, {.task = task, .order = waited_++, .next = kNone});
    if (first) park(needs.queue, later);
  }

  // Returns the task that may start now, which has left its queue, or kNone. After it has started,
  // call settle() with the same wake.
  template <class Later>
  std::uint32_t wake(const Wake& wake, const Later& later) {
    const auto number = static_cast<std::uint16_t>(wake.resource);
    Resource& resource = resources_[number];
    woken_queue_ = kNone;
    if (resource.planned_order != wake.order || resource.planned_ns != wake.time_ns) return kNone;
    resource.planned_order = kNone;
    if (resource.free_ns > wake.time_ns) {
      plan_wake(number, later);
      return kNone;
    }
    const std::uint32_t index = unpark_first(resource);
    Queue& queue = queues_[index];
    const std::uint16_t other = queue.cpu == number ? queue.nic : queue.cpu;
    if (other != Needs::kNoNic && resources_[other].free_ns > wake.time_ns) {
      park(index, later);
      if (!resource.parked.empty()) plan_wake(number, later);
      return kNone;
    }
    const std::uint32_t task = waiters_[queue.head].task;
    remove_head(queue);
    woken_queue_ = index;
    return task;
  }

  template <class Later>
  void settle(const Wake& wake, const Later& later) {
    if (!resources_[wake.resource].parked.empty()) {
      plan_wake(static_cast<std::uint16_t>(wake.resource), later);
    }
    if (queues_[woken_queue_].head != kNone) park(woken_queue_, later);
  }

 private:
  struct Resource {
    std::int64_t free_ns = 0;
    // The wake that is valid; others for this resource are out of date.
    std::int64_t planned_ns = 0;
    std::uint32_t planned_order = kNone;
    std::uint32_t holder = kNone;
    std::vector<std::uint32_t> parked = {};  // a heap of queues, first come first
  };

  struct Queue {
    std::uint32_t order = 0;     // order of the task at its head
    std::uint32_t head = kNone;  // indices into waiters_
    std::uint32_t tail = kNone;
    std::uint16_t cpu = 0;
    std::uint16_t nic = Needs::kNoNic;
  };

  struct Waiter {
    std::uint32_t task;
    std::uint32_t order;  // its number among the tasks that had to wait
    std::uint32_t next;
  };

  [[nodiscard]] Needs message(unsigned cpu, unsigned side) const {
    return {.cpu = static_cast<std::uint16_t>(cpu),
            .nic = static_cast<std::uint16_t>(cpus_ + side),
            .queue = cpu * (1 + 2 * nics_) + 1 + side};
  }

  [[nodiscard]] std::int64_t free_ns(const Needs& needs) const {
    const std::int64_t cpu = resources_[needs.cpu].free_ns;
    return needs.nic == Needs::kNoNic ? cpu : std::max(cpu, resources_[needs.nic].free_ns);
  }

  // The order of a heap of queues.
  [[nodiscard]] auto comes_later() const {
    return [this](std::uint32_t queue, std::uint32_t other) {
      return queues_[queue].order > queues_[other].order;
    };
  }

  void append(Queue& queue, const Waiter& waiter) {
    std::uint32_t node = free_waiters_;
    if (node == kNone) {
      node = static_cast<std::uint32_t>(waiters_.size());
      waiters_.push_back(waiter);
    } else {
      free_waiters_ = waiters_[node].next;
      waiters_[node] = waiter;
    }
    if (queue.head == kNone) {
      queue.head = node;
      queue.order = waiter.order;
    } else {
      waiters_[queue.tail].next = node;
    }
    queue.tail = node;
  }

  void remove_head(Queue& queue) {
    const std::uint32_t node = queue.head;
    queue.head = waiters_[node].next;
    waiters_[node].next = free_waiters_;
    free_waiters_ = node;
    if (queue.head != kNone) queue.order = waiters_[queue.head].order;
  }

  template <class Later>
  void plan_wake(std::uint16_t resource, const Later& later) {
    Resource& self = resources_[resource];
    const std::uint32_t order = queues_[self.parked.front()].order;
    if (self.planned_order == order && self.planned_ns == self.free_ns) return;
    self.planned_order = order;
    self.planned_ns = self.free_ns;
    later(Wake{.time_ns = self.free_ns, .order = order, .resource = resource});
  }

  template <class Later>
  void park(std::uint32_t queue, const Later& later) {
    const Queue& self = queues_[queue];
    const bool by_nic =
        self.nic != Needs::kNoNic && resources_[self.nic].free_ns > resources_[self.cpu].free_ns;
    const std::uint16_t place = by_nic ? self.nic : self.cpu;
    std::vector<std::uint32_t>& parked = resources_[place].parked;
    parked.push_back(queue);
    std::push_heap(parked.begin(), parked.end(), comes_later());
    if (parked.front() == queue) plan_wake(place, later);
  }

  std::uint32_t unpark_first(Resource& resource) {
    std::pop_heap(resource.parked.begin(), resource.parked.end(), comes_later());
    const std::uint32_t queue = resource.parked.back();
    resource.parked.pop_back();
    return queue;
  }

  unsigned cpus_ = 0;
  unsigned nics_ = 0;
  std::uint32_t waited_ = 0;
  std::vector<Resource> resources_;
  std::vector<Queue> queues_;
  std::vector<Waiter> waiters_;
  std::uint32_t free_waiters_ = kNone;
  std::uint32_t woken_queue_ = kNone;
};

}  // namespace assay::simulate
