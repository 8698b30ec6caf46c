#include "goal/match_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>
#include <vector>

namespace assay::goal {
namespace {

using model::OpKind;
using model::RankView;
using model::Schedule;
using model::ScheduleOp;

struct Message {
  std::uint32_t rank = 0;  // where the operation stands
  std::uint32_t op = 0;
};

// All sends, by destination.
class Sends {
 public:
  explicit Sends(const Schedule& schedule) : first_(schedule.ranks().size() + 1) {
    each(schedule, [&](std::uint32_t destination, Message) { ++first_[destination + 1]; });
    for (std::size_t i = 1; i < first_.size(); ++i)
      first_[i] += first_[i - 1];
    messages_.resize(first_.back());
    std::vector<std::uint64_t> next = first_;
    each(schedule, [&](std::uint32_t destination, Message message) {
      messages_[next[destination]++] = message;
    });
  }

  [[nodiscard]] std::span<const Message> to(std::uint32_t destination) const {
    return {messages_.data() + first_[destination], first_[destination + 1] - first_[destination]};
  }

 private:
  template <class Call>
  static void each(const Schedule& schedule, const Call& call) {
    for (std::uint32_t rank = 0; rank < schedule.ranks().size(); ++rank) {
      const auto ops = schedule.ranks()[rank].ops;
      for (std::uint32_t op = 0; op < ops.size(); ++op) {
        if (ops[op].kind == OpKind::kSend) call(ops[op].peer, Message{rank, op});
      }
    }
  }

  std::vector<std::uint64_t> first_;
  std::vector<Message> messages_;
};

std::uint64_t key_of(std::uint32_t source, std::uint32_t tag) {
  return std::uint64_t{source} << 32U | tag;
}

// The messages to one rank that have no receive yet, by source and tag: an open hash table with
// linear probing, so that all sizes of a key lie in one run.
class Waiting {
 public:
  struct Slot {
    std::uint64_t key = 0;
    std::uint64_t size = 0;
    std::uint32_t count = 0;
    Message first = {};
    bool used = false;
  };

  void start(std::size_t messages) {
    const std::size_t needed = std::bit_ceil(2 * messages + 1);
    slots_.assign(needed, {});
    shift_ = 64 - std::countr_zero(needed);
  }

  // True when the key was there before.
  bool add(std::uint64_t key, std::uint64_t size, Message message) {
    bool repeated = false;
    for (std::size_t i = home(key);; i = next(i)) {
      Slot& slot = slots_[i];
      if (!slot.used) {
        slot = {.key = key, .size = size, .count = 1, .first = message, .used = true};
        return repeated;
      }
      if (slot.key != key) continue;
      repeated = true;
      if (slot.size != size) continue;
      ++slot.count;
      return true;
    }
  }

  // Takes away a message with this key and size.
  bool take(std::uint64_t key, std::uint64_t size) {
    return take_if(key, [&](const Slot& slot) { return slot.size == size; }) != nullptr;
  }

  // Takes away a message with this key; nothing when there is none.
  const Slot* take_any_size(std::uint64_t key) {
    return take_if(key, [](const Slot&) { return true; });
  }

  // The messages that are left.
  [[nodiscard]] std::vector<Slot> left() const {
    std::vector<Slot> left;
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(left),
                 [](const Slot& slot) { return slot.used && slot.count > 0; });
    std::sort(left.begin(), left.end(), [](const Slot& a, const Slot& b) {
      return std::tie(a.first.rank, a.first.op) < std::tie(b.first.rank, b.first.op);
    });
    return left;
  }

 private:
  template <class Accept>
  const Slot* take_if(std::uint64_t key, const Accept& accept) {
    for (std::size_t i = home(key); slots_[i].used; i = next(i)) {
      Slot& slot = slots_[i];
      if (slot.key != key || slot.count == 0 || !accept(slot)) continue;
      --slot.count;
      return &slot;
    }
    return nullptr;
  }

  // Fibonacci hashing: the upper bits of the product, by the golden ratio of 2^64.
  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    return shift_ == 64 ? 0 : key * 0x9E3779B97F4A7C15U >> static_cast<unsigned>(shift_);
  }

  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }

  std::vector<Slot> slots_;
  int shift_ = 64;
};

class Matcher {
 public:
  Matcher(const Schedule& schedule, Findings& findings)
      : schedule_(schedule), findings_(findings), sends_(schedule) {}

  std::uint64_t run() {
    for (std::uint32_t rank = 0; rank < schedule_.ranks().size(); ++rank) {
      fill(rank);
      const std::uint64_t matched = receive(rank);
      if (matched < sends_.to(rank).size() || wildcards_ > 0 || !unmatched_.empty()) settle(rank);
      matched_ += matched;
    }
    return matched_;
  }

 private:
  [[nodiscard]] const ScheduleOp& op_of(Message message) const {
    return schedule_.ranks()[message.rank].ops[message.op];
  }

  void fill(std::uint32_t rank) {
    const auto sends = sends_.to(rank);
    waiting_.start(sends.size());
    for (const Message& message : sends) {
      const ScheduleOp& op = op_of(message);
      if (message.rank == rank) {
        findings_.add(FindingKind::kSelfSend,
                      [&] { return fmt::format("rank {}: operation {}", rank, message.op); });
      }
      if (waiting_.add(key_of(message.rank, op.tag), op.size, message)) {
        findings_.add(FindingKind::kRepeatedTag, [&] { return describe_send(message); });
      }
    }
  }

  // How many receives of the rank found their send.
  std::uint64_t receive(std::uint32_t rank) {
    std::uint64_t matched = 0;
    const auto ops = schedule_.ranks()[rank].ops;
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const ScheduleOp& op = ops[i];
      if (op.kind != OpKind::kReceive) continue;
      if (op.peer == model::kAnyPeer || op.tag == model::kAnyTag) {
        ++wildcards_;
        findings_.add(FindingKind::kWildcard,
                      [&] { return fmt::format("rank {}: operation {}", rank, i); });
      } else if (waiting_.take(key_of(op.peer, op.tag), op.size)) {
        ++matched;
      } else {
        unmatched_.push_back(i);
      }
    }
    return matched;
  }

  // What is left when every message that has its exact receive has gone.
  void settle(std::uint32_t rank) {
    for (const std::uint32_t i : unmatched_) {
      const ScheduleOp& op = schedule_.ranks()[rank].ops[i];
      const Waiting::Slot* send = waiting_.take_any_size(key_of(op.peer, op.tag));
      if (send != nullptr) {
        findings_.add(FindingKind::kSizeMismatch, [&] {
          return fmt::format("{}, but {} B are sent (rank {}, operation {})",
                             describe_receive(rank, i), send->size, send->first.rank,
                             send->first.op);
        });
      } else {
        findings_.add(FindingKind::kUnmatchedReceive, [&] { return describe_receive(rank, i); });
      }
    }
    settle_sends(rank);
    unmatched_.clear();
    wildcards_ = 0;
  }

  // Receives that take any message may take as many of these.
  void settle_sends(std::uint32_t rank) {
    std::uint64_t taken = 0;
    for (const Waiting::Slot& slot : waiting_.left()) {
      const std::uint64_t by_wildcards = std::min<std::uint64_t>(slot.count, wildcards_ - taken);
      taken += by_wildcards;
      if (slot.count == by_wildcards) continue;
      findings_.add(
          FindingKind::kUnmatchedSend, [&] { return describe_send(slot.first); },
          slot.count - by_wildcards);
    }
    if (taken < wildcards_) {
      findings_.add(
          FindingKind::kUnmatchedReceive,
          [&] {
            return fmt::format(
                "rank {}: {} receives from anybody or with any tag, but only {} such "
                "messages",
                rank, wildcards_, taken);
          },
          wildcards_ - taken);
    }
  }

  [[nodiscard]] std::string describe_send(Message message) const {
    const ScheduleOp& op = op_of(message);
    return fmt::format("rank {}: operation {} sends {} B to rank {} with tag {}", message.rank,
                       message.op, std::uint64_t{op.size}, std::uint32_t{op.peer},
                       std::uint32_t{op.tag});
  }

  [[nodiscard]] std::string describe_receive(std::uint32_t rank, std::uint32_t i) const {
    const ScheduleOp& op = schedule_.ranks()[rank].ops[i];
    return fmt::format("rank {}: operation {} receives {} B from rank {} with tag {}", rank, i,
                       std::uint64_t{op.size}, std::uint32_t{op.peer}, std::uint32_t{op.tag});
  }

  const Schedule& schedule_;
  Findings& findings_;
  Sends sends_;
  Waiting waiting_;
  std::vector<std::uint32_t> unmatched_;  // receives of the rank without an exact send
  std::uint64_t wildcards_ = 0;           // of the rank
  std::uint64_t matched_ = 0;
};

}  // namespace

std::uint64_t check_matches(const Schedule& schedule, Findings& findings) {
  return Matcher(schedule, findings).run();
}

}  // namespace assay::goal
