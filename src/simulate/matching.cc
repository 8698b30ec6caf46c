#include "simulate/matching.h"

#include <algorithm>

namespace assay::simulate {

std::size_t ExactMatching::home(std::uint32_t source, std::uint32_t tag) const {
  // Fibonacci hashing multiplies by 2^64 divided by the golden ratio, because tags and sources are
  // dense small numbers.
  const std::uint64_t mixed =
      (std::uint64_t{source} << 32U | tag) * std::uint64_t{0x9E3779B97F4A7C15};
  return (mixed >> 32U) & (slots_.size() - 1);
}

std::size_t ExactMatching::find(std::uint32_t source, std::uint32_t tag) const {
  std::size_t index = home(source, tag);
  while (slots_[index].first != kNone &&
         (slots_[index].source != source || slots_[index].tag != tag)) {
    index = (index + 1) & (slots_.size() - 1);
  }
  return index;
}

void ExactMatching::grow() {
  const std::size_t size = std::max<std::size_t>(4, slots_.size() * 2);
  std::vector<Slot> old(size, Slot{.source = 0, .tag = 0, .first = kNone, .side = Side::kReceive});
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.first != kNone) slots_[find(slot.source, slot.tag)] = slot;
  }
}

void ExactMatching::append(Slot& slot, std::uint32_t op) {
  std::uint32_t node = free_nodes_;
  if (node == kNone) {
    node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({op, kNone});
  } else {
    free_nodes_ = nodes_[node].next;
    nodes_[node] = {op, kNone};
  }
  if (slot.head == kNone) {
    slot.head = node;
  } else {
    nodes_[slot.tail].next = node;
  }
  slot.tail = node;
}

// Moves back the entries that probing had pushed past this slot.
void ExactMatching::erase(std::size_t index) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = index;
  for (std::size_t next = (index + 1) & mask; slots_[next].first != kNone;
       next = (next + 1) & mask) {
    const std::size_t wanted = home(slots_[next].source, slots_[next].tag);
    if (((next - wanted) & mask) < ((next - hole) & mask)) continue;
    slots_[hole] = slots_[next];
    hole = next;
  }
  slots_[hole].first = kNone;
  --used_;
}

std::uint32_t ExactMatching::take_first(std::size_t index) {
  Slot& slot = slots_[index];
  const std::uint32_t op = slot.first;
  if (slot.head == kNone) {
    erase(index);
    return op;
  }
  const std::uint32_t node = slot.head;
  slot.first = nodes_[node].op;
  slot.head = nodes_[node].next;
  nodes_[node].next = free_nodes_;
  free_nodes_ = node;
  return op;
}

std::uint32_t ExactMatching::meet(std::uint32_t source,
                                  std::uint32_t tag,
                                  std::uint32_t op,
                                  Side side) {
  if ((used_ + 1) * 4 > slots_.size() * 3) grow();
  const std::size_t index = find(source, tag);
  Slot& slot = slots_[index];
  if (slot.first == kNone) {
    slot = {.source = source, .tag = tag, .first = op, .side = side};
    ++used_;
    return kNone;
  }
  if (slot.side != side) return take_first(index);
  append(slot, op);
  return kNone;
}

OpId AnyMatching::meet(std::deque<Waiter>& others, std::deque<Waiter>& own, const Waiter& waiter) {
  const auto fits = [](std::uint32_t a, std::uint32_t b, std::uint32_t any) {
    return a == b || a == any || b == any;
  };
  const auto found = std::find_if(others.begin(), others.end(), [&](const Waiter& other) {
    return fits(other.source, waiter.source, model::kAnyPeer) &&
           fits(other.tag, waiter.tag, model::kAnyTag);
  });
  if (found == others.end()) {
    own.push_back(waiter);
    return {0, kNone};
  }
  const OpId met{found->source, found->op};
  others.erase(found);
  return met;
}

OpId AnyMatching::post(std::uint32_t source, std::uint32_t tag, std::uint32_t receive) {
  return meet(messages_, receives_, {source, tag, receive});
}

OpId AnyMatching::arrive(std::uint32_t source, std::uint32_t tag, std::uint32_t send) {
  return meet(receives_, messages_, {source, tag, send});
}

OpId Matching::post(OpId receive, const model::ScheduleOp& op) {
  if (any_[receive.rank]) return any_[receive.rank]->post(op.peer, op.tag, receive.op);
  return {op.peer, exact_[receive.rank].post(op.peer, op.tag, receive.op)};
}

std::uint32_t Matching::arrive(std::uint32_t rank, OpId send, const model::ScheduleOp& op) {
  if (any_[rank]) return any_[rank]->arrive(send.rank, op.tag, send.op).op;
  return exact_[rank].arrive(send.rank, op.tag, send.op);
}

}  // namespace assay::simulate
