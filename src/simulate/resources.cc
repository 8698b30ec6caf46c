#include "simulate/resources.h"

#include <algorithm>

namespace assay::simulate {

Resources::Resources(const model::Schedule& schedule) {
  ranks_.reserve(schedule.ranks().size());
  for (const model::RankView& view : schedule.ranks())
    add_rank(view);
}

// The resources of a rank are its CPUs, sending sides and receiving sides. The queues are, for each
// CPU, the calculations, then the sends of each NIC, then the receptions of each NIC.
void Resources::add_rank(const model::RankView& view) {
  RankPart part;
  for (const model::ScheduleOp& op : view.ops) {
    part.cpus = std::max(part.cpus, op.cpu + 1U);
    part.nics = std::max(part.nics, op.nic + 1U);
  }
  part.first_resource = static_cast<std::uint32_t>(resources_.size());
  part.first_queue = static_cast<std::uint32_t>(queues_.size());
  ranks_.push_back(part);
  resources_.resize(resources_.size() + part.cpus + std::size_t{2} * part.nics);
  for (std::uint32_t cpu = 0; cpu < part.cpus; ++cpu) {
    queues_.push_back({.cpu = part.first_resource + cpu});
    for (std::uint32_t nic = 0; nic < 2 * part.nics; ++nic) {
      queues_.push_back(
          {.cpu = part.first_resource + cpu, .nic = part.first_resource + part.cpus + nic});
    }
  }
}

Needs Resources::needs(std::uint32_t rank, const model::ScheduleOp& op) const {
  const RankPart& part = ranks_[rank];
  Needs needs{.rank = rank, .cpu = part.first_resource + op.cpu};
  needs.queue = part.first_queue + op.cpu * (1 + 2 * part.nics);
  if (op.kind == model::OpKind::kCalc) return needs;
  const std::uint32_t side = op.nic + (op.kind == model::OpKind::kReceive ? part.nics : 0);
  needs.nic = part.first_resource + part.cpus + side;
  needs.queue += 1 + side;
  return needs;
}

std::int64_t Resources::free_ns(const Needs& needs) const {
  const std::int64_t cpu = resources_[needs.cpu].free_ns;
  return needs.nic == kNone ? cpu : std::max(cpu, resources_[needs.nic].free_ns);
}

void Resources::append(Queue& queue, const Waiter& waiter) {
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

void Resources::remove_head(Queue& queue) {
  const std::uint32_t node = queue.head;
  queue.head = waiters_[node].next;
  waiters_[node].next = free_waiters_;
  free_waiters_ = node;
  if (queue.head != kNone) queue.order = waiters_[queue.head].order;
}

void Resources::wait(const Needs& needs, std::uint32_t op, EventQueue& events) {
  Queue& queue = queues_[needs.queue];
  const bool first = queue.head == kNone;
  append(queue, {.op = op, .order = ranks_[needs.rank].waited++, .next = kNone});
  if (first) park(needs.rank, needs.queue, events);
}

bool Resources::comes_later(std::uint32_t queue, std::uint32_t other) const {
  return queues_[queue].order > queues_[other].order;
}

void Resources::plan_wake(std::uint32_t rank, std::uint32_t resource, EventQueue& events) {
  Resource& self = resources_[resource];
  const Queue& first = queues_[self.parked.front()];
  if (self.planned_order == first.order && self.planned_ns == self.free_ns) return;
  self.planned_order = first.order;
  self.planned_ns = self.free_ns;
  events.push({.time_ns = self.free_ns,
               .rank = rank,
               .kind = EventKind::kWake,
               .first = first.order,
               .second = resource});
}

void Resources::park(std::uint32_t rank, std::uint32_t queue, EventQueue& events) {
  const auto later = [this](std::uint32_t a, std::uint32_t b) { return comes_later(a, b); };
  const Queue& self = queues_[queue];
  std::uint32_t place = self.cpu;
  if (self.nic != kNone && resources_[self.nic].free_ns > resources_[self.cpu].free_ns) {
    place = self.nic;
  }
  std::vector<std::uint32_t>& parked = resources_[place].parked;
  parked.push_back(queue);
  std::push_heap(parked.begin(), parked.end(), later);
  if (parked.front() == queue) plan_wake(rank, place, events);
}

std::uint32_t Resources::unpark_first(Resource& resource) {
  const auto later = [this](std::uint32_t a, std::uint32_t b) { return comes_later(a, b); };
  std::pop_heap(resource.parked.begin(), resource.parked.end(), later);
  const std::uint32_t queue = resource.parked.back();
  resource.parked.pop_back();
  return queue;
}

std::uint32_t Resources::wake(const Event& event, EventQueue& events) {
  Resource& resource = resources_[event.second];
  woken_queue_ = kNone;
  if (resource.planned_order != event.first || resource.planned_ns != event.time_ns) return kNone;
  resource.planned_order = kNone;
  if (resource.free_ns > event.time_ns) {
    plan_wake(event.rank, event.second, events);
    return kNone;
  }
  const std::uint32_t index = unpark_first(resource);
  Queue& queue = queues_[index];
  const std::uint32_t other = queue.cpu == event.second ? queue.nic : queue.cpu;
  if (other != kNone && resources_[other].free_ns > event.time_ns) {
    park(event.rank, index, events);
    if (!resource.parked.empty()) plan_wake(event.rank, event.second, events);
    return kNone;
  }
  const std::uint32_t op = waiters_[queue.head].op;
  remove_head(queue);
  woken_queue_ = index;
  return op;
}

void Resources::settle(const Event& event, EventQueue& events) {
  const std::uint32_t queue = woken_queue_;
  Resource& resource = resources_[event.second];
  if (!resource.parked.empty()) plan_wake(event.rank, event.second, events);
  if (queues_[queue].head != kNone) park(event.rank, queue, events);
}

}  // namespace assay::simulate
