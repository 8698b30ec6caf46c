#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/counted.h"
#include "goal/check.h"

namespace assay::goal {
namespace {

using model::OpKind;
using model::RankView;
using model::Schedule;
using model::ScheduleOp;

struct Message {
  std::uint32_t rank = 0;  // the rank that has the operation
  std::uint32_t op = 0;
};

// All sends, sorted by destination.
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

// Fibonacci hashing: multiplies by 2^64 divided by the golden ratio and takes the upper bits.
std::size_t home_of(std::uint64_t key, int bits) {
  return bits == 0 ? 0 : key * 0x9E3779B97F4A7C15U >> static_cast<unsigned>(64 - bits);
}

// The table has at least twice as many slots as keys, and a power of two.
int table_bits(std::size_t keys) {
  return static_cast<int>(std::bit_width(2 * keys));
}

// A set of keys: an open hash table with linear probing.
class KeySet {
 public:
  void start(std::size_t keys) {
    bits_ = table_bits(keys);
    keys_.assign(std::size_t{1} << static_cast<unsigned>(bits_), kNone);
  }

  // Returns false when the set has the key already.
  bool add(std::uint64_t key) {
    std::size_t i = home_of(key, bits_);
    for (; keys_[i] != kNone; i = (i + 1) & (keys_.size() - 1)) {
      if (keys_[i] == key) return false;
    }
    keys_[i] = key;
    return true;
  }

 private:
  // No key has this value: the source 2^32 - 1 is kAnyPeer.
  static constexpr std::uint64_t kNone = 0xFFFFFFFFFFFFFFFF;

  int bits_ = 0;
  std::vector<std::uint64_t> keys_;
};

// The messages to one rank that have no receive yet, by source, tag and size.
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
    bits_ = table_bits(messages);
    slots_.assign(std::size_t{1} << static_cast<unsigned>(bits_), {});
  }

  void add(std::uint64_t key, std::uint64_t size, Message message) {
    Slot& slot = find(key, size);
    if (!slot.used) slot = {.key = key, .size = size, .first = message, .used = true};
    ++slot.count;
  }

  // Removes a message; returns false when there is none.
  bool take(std::uint64_t key, std::uint64_t size) {
    Slot& slot = find(key, size);
    if (slot.count == 0) return false;
    --slot.count;
    return true;
  }

  // Returns the remaining messages, in the order of ranks and operations.
  [[nodiscard]] std::vector<Slot> left() const {
    std::vector<Slot> left;
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(left),
                 [](const Slot& slot) { return slot.count > 0; });
    std::sort(left.begin(), left.end(), [](const Slot& a, const Slot& b) {
      return std::tie(a.first.rank, a.first.op) < std::tie(b.first.rank, b.first.op);
    });
    return left;
  }

 private:
  // Returns the slot of the message, or the free slot where it belongs.
  Slot& find(std::uint64_t key, std::uint64_t size) {
    std::size_t i = home_of(key ^ std::rotl(size * 0xC2B2AE3D27D4EB4FU, 32), bits_);
    while (slots_[i].used && (slots_[i].key != key || slots_[i].size != size))
      i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }

  std::vector<Slot> slots_;
  int bits_ = 0;
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
    keys_.start(sends.size());
    for (const Message& message : sends) {
      const ScheduleOp& op = op_of(message);
      if (message.rank == rank) {
        findings_.add(FindingKind::kSelfSend,
                      [&] { return fmt::format("rank {}: operation {}", rank, message.op); });
      }
      const std::uint64_t key = key_of(message.rank, op.tag);
      waiting_.add(key, op.size, message);
      if (!keys_.add(key)) {
        findings_.add(FindingKind::kRepeatedTag, [&] { return describe_send(message); });
      }
    }
  }

  // Returns how many receives of the rank found their send.
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

  // Reports what remains once every message with an exact receive is gone.
  void settle(std::uint32_t rank) {
    std::vector<Waiting::Slot> sends = waiting_.left();
    settle_receives(rank, sends);
    settle_sends(rank, sends);
    unmatched_.clear();
    wildcards_ = 0;
  }

  // A receive that misses its send only by the size is paired with it.
  void settle_receives(std::uint32_t rank, std::vector<Waiting::Slot>& sends) {
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_key;
    for (std::size_t i = sends.size(); i-- > 0;)
      by_key[sends[i].key].push_back(i);
    for (const std::uint32_t i : unmatched_) {
      const ScheduleOp& op = schedule_.ranks()[rank].ops[i];
      const auto found = by_key.find(key_of(op.peer, op.tag));
      if (found == by_key.end() || found->second.empty()) {
        findings_.add(FindingKind::kUnmatchedReceive, [&] { return describe_receive(rank, i); });
        continue;
      }
      Waiting::Slot& send = sends[found->second.back()];
      findings_.add(FindingKind::kSizeMismatch, [&] {
        return fmt::format("rank {}: operation {} sends {} B, rank {}: operation {} takes {} B",
                           send.first.rank, send.first.op, send.size, rank, i,
                           std::uint64_t{op.size});
      });
      if (--send.count == 0) found->second.pop_back();
    }
  }

  // Wildcard receives may take any of the remaining messages.
  void settle_sends(std::uint32_t rank, const std::vector<Waiting::Slot>& sends) {
    std::uint64_t taken = 0;
    for (const Waiting::Slot& slot : sends) {
      const std::uint64_t by_wildcards = std::min<std::uint64_t>(slot.count, wildcards_ - taken);
      taken += by_wildcards;
      if (slot.count == by_wildcards) continue;
      findings_.add(
          FindingKind::kUnmatchedSend, [&] { return describe_send(slot.first); },
          slot.count - by_wildcards);
    }
    if (taken == wildcards_) return;
    findings_.add(
        FindingKind::kUnmatchedReceive,
        [&] {
          return fmt::format("rank {}: {}, but {} for them", rank,
                             core::counted(wildcards_, "wildcard receive"),
                             core::counted(taken, "message"));
        },
        wildcards_ - taken);
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
  KeySet keys_;
  std::vector<std::uint32_t> unmatched_;  // receives of the rank that have no exact send
  std::uint64_t wildcards_ = 0;           // of the rank
  std::uint64_t matched_ = 0;
};

}  // namespace

std::uint64_t check_matches(const Schedule& schedule, Findings& findings) {
  return Matcher(schedule, findings).run();
}

}  // namespace assay::goal
