// Matches messages and receives of one rank: first come, first served for each source and tag.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "model/schedule.h"
#include "simulate/record.h"

namespace assay::simulate {

// A hash table with open addressing and linear probing. A pair of source and tag without waiters
// has no slot, so that memory grows with what waits and not with the number of tags.
class ExactMatching {
 public:
  // Returns the send of the message for a receive, or kNone: then the receive waits here.
  std::uint32_t post(std::uint32_t source, std::uint32_t tag, std::uint32_t receive) {
    return meet(source, tag, receive, Side::kReceive);
  }

  // Returns the receive for a message, or kNone: then the message waits here.
  std::uint32_t arrive(std::uint32_t source, std::uint32_t tag, std::uint32_t send) {
    return meet(source, tag, send, Side::kMessage);
  }

 private:
  enum class Side : std::uint8_t { kReceive, kMessage };

  // All waiters of one source and tag are on the same side. The first is in the slot, the others
  // are a list in nodes_.
  struct Slot {
    std::uint32_t source;
    std::uint32_t tag;
    std::uint32_t first;  // kNone: the slot is empty
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    Side side;
  };

  struct Node {
    std::uint32_t op;
    std::uint32_t next;
  };

  std::uint32_t meet(std::uint32_t source, std::uint32_t tag, std::uint32_t op, Side side);
  [[nodiscard]] std::size_t home(std::uint32_t source, std::uint32_t tag) const;
  [[nodiscard]] std::size_t find(std::uint32_t source, std::uint32_t tag) const;
  void append(Slot& slot, std::uint32_t op);
  std::uint32_t take_first(std::size_t index);
  void erase(std::size_t index);
  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  std::vector<Node> nodes_;
  std::uint32_t free_nodes_ = kNone;
};

// Matches for ranks that accept any source or any tag; it searches the waiters in order.
class AnyMatching {
 public:
  // Returns the send that a receive takes, or the receive that takes a message; op is kNone if it
  // has to wait.
  OpId post(std::uint32_t source, std::uint32_t tag, std::uint32_t receive);
  OpId arrive(std::uint32_t source, std::uint32_t tag, std::uint32_t send);

 private:
  struct Waiter {
    std::uint32_t source;
    std::uint32_t tag;
    std::uint32_t op;
  };

  static OpId meet(std::deque<Waiter>& others, std::deque<Waiter>& own, const Waiter& waiter);

  std::deque<Waiter> receives_;
  std::deque<Waiter> messages_;
};

// The matching of all ranks. Several threads may use it for different ranks, once all have noted
// what their ranks send and receive.
class Matching {
 public:
  explicit Matching(std::size_t num_ranks) : exact_(num_ranks), any_(num_ranks), wild_(num_ranks) {}

  // Notes which ranks an operation makes accept any source or any tag. Before prepare().
  void note(std::uint32_t rank, const model::ScheduleOp& op) {
    if (op.kind == model::OpKind::kCalc) return;
    if (op.peer != model::kAnyPeer && op.tag != model::kAnyTag) return;
    const std::uint32_t receiver = op.kind == model::OpKind::kSend ? op.peer : rank;
    wild_[receiver].store(true, std::memory_order_relaxed);
  }

  void prepare(std::uint32_t rank) {
    if (wild_[rank].load(std::memory_order_relaxed)) any_[rank] = std::make_unique<AnyMatching>();
  }

  OpId post(OpId receive, const model::ScheduleOp& op);
  std::uint32_t arrive(std::uint32_t rank, OpId send, const model::ScheduleOp& op);

 private:
  std::vector<ExactMatching> exact_;
  std::vector<std::unique_ptr<AnyMatching>> any_;  // by rank; null for ranks that use the exact one
  std::vector<std::atomic<bool>> wild_;            // by rank: whether it needs the other one
};

}  // namespace assay::simulate
