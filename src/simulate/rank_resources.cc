#include "simulate/rank_resources.h"

namespace assay::simulate {

void RankResources::append(Queue& queue, const Waiter& waiter) {
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

void RankResources::remove_head(Queue& queue) {
  const std::uint32_t node = queue.head;
  queue.head = waiters_[node].next;
  waiters_[node].next = free_waiters_;
  free_waiters_ = node;
  if (queue.head != kNone) queue.order = waiters_[queue.head].order;
}

void RankResources::wait(const RankNeeds& needs, std::uint32_t task, RankEvents& events) {
  Queue& queue = queues_[needs.queue];
  const bool first = queue.head == kNone;
  append(queue, {.task = task, .order = waited_++, .next = kNone});
  if (first) park(needs.queue, events);
}

void RankResources::plan_wake(std::uint16_t resource, RankEvents& events) {
  Resource& self = resources_[resource];
  const std::uint32_t order = queues_[self.parked.front()].order;
  if (self.planned_order == order && self.planned_ns == self.free_ns) return;
  self.planned_order = order;
  self.planned_ns = self.free_ns;
  events.push({.time_ns = self.free_ns,
               .number = std::uint64_t{order} << 32U | resource,
               .kind_and_source = pack(RankEventKind::kWake)});
}

void RankResources::park(std::uint32_t queue, RankEvents& events) {
  const auto later = [this](std::uint32_t a, std::uint32_t b) { return comes_later(a, b); };
  const Queue& self = queues_[queue];
  const bool by_nic =
      self.nic != RankNeeds::kNoNic && resources_[self.nic].free_ns > resources_[self.cpu].free_ns;
  const std::uint16_t place = by_nic ? self.nic : self.cpu;
  std::vector<std::uint32_t>& parked = resources_[place].parked;
  parked.push_back(queue);
  std::push_heap(parked.begin(), parked.end(), later);
  if (parked.front() == queue) plan_wake(place, events);
}

std::uint32_t RankResources::unpark_first(Resource& resource) {
  const auto later = [this](std::uint32_t a, std::uint32_t b) { return comes_later(a, b); };
  std::pop_heap(resource.parked.begin(), resource.parked.end(), later);
  const std::uint32_t queue = resource.parked.back();
  resource.parked.pop_back();
  return queue;
}

std::uint32_t RankResources::wake(const RankEvent& event, RankEvents& events) {
  const auto number = static_cast<std::uint16_t>(event.number);
  const auto order = static_cast<std::uint32_t>(event.number >> 32U);
  Resource& resource = resources_[number];
  woken_queue_ = kNone;
  if (resource.planned_order != order || resource.planned_ns != event.time_ns) return kNone;
  resource.planned_order = kNone;
  if (resource.free_ns > event.time_ns) {
    plan_wake(number, events);
    return kNone;
  }
  const std::uint32_t index = unpark_first(resource);
  Queue& queue = queues_[index];
  const std::uint16_t other = queue.cpu == number ? queue.nic : queue.cpu;
  if (other != RankNeeds::kNoNic && resources_[other].free_ns > event.time_ns) {
    park(index, events);
    if (!resource.parked.empty()) plan_wake(number, events);
    return kNone;
  }
  const std::uint32_t task = waiters_[queue.head].task;
  remove_head(queue);
  woken_queue_ = index;
  return task;
}

void RankResources::settle(const RankEvent& event, RankEvents& events) {
  const auto number = static_cast<std::uint16_t>(event.number);
  if (!resources_[number].parked.empty()) plan_wake(number, events);
  if (queues_[woken_queue_].head != kNone) park(woken_queue_, events);
}

}  // namespace assay::simulate
