// The next events of one rank. Ranks meet only in messages, so that the order of events matters
// within a rank: at the same time first waiters for a resource, in the order in which they began to
// wait; then operations that have just become ready, by number; then messages, by source and
// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::simulate {

enum class RankEventKind : std::uint32_t { kWake, kReady, kArrival };

struct RankEvent {
  std::int64_t time_ns = 0;
  std::uint64_t number = 0;           // the order among events of the same time, kind and source
  std::uint32_t kind_and_source = 0;  // source: of a message, otherwise 0
  std::uint32_t data = 0;             // kReady: the task; kArrival: the key of its lane

  [[nodiscard]] RankEventKind kind() const {
    return static_cast<RankEventKind>(kind_and_source >> 30U);
  }

  [[nodiscard]] std::uint32_t source() const { return kind_and_source & kMostSource; }

  static constexpr std::uint32_t kMostSource = (1U << 30U) - 1;
};

inline std::uint32_t pack(RankEventKind kind, std::uint32_t source = 0) {
  return static_cast<std::uint32_t>(kind) << 30U | source;
}

inline bool before(const RankEvent& a, const RankEvent& b) {
  if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
  if (a.kind_and_source != b.kind_and_source) return a.kind_and_source < b.kind_and_source;
  return a.number < b.number;
}

// A heap with four children per node, as the engine's for whole schedules.
class RankEvents {
 public:
  [[nodiscard]] bool empty() const { return events_.empty(); }

  [[nodiscard]] const RankEvent& top() const { return events_.front(); }

  void push(const RankEvent& event) {
    std::size_t at = events_.size();
    events_.push_back(event);
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!before(event, events_[parent])) break;
      events_[at] = events_[parent];
      at = parent;
    }
    events_[at] = event;
  }

  void pop() {
    const RankEvent last = events_.back();
    events_.pop_back();
    if (!events_.empty()) sink(last);
  }

 private:
  static constexpr std::size_t kChildren = 4;

  void sink(const RankEvent& event) {
    const std::size_t size = events_.size();
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = at * kChildren + 1;
      if (first >= size) break;
      const std::size_t end = first + kChildren < size ? first + kChildren : size;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(events_[child], events_[least])) least = child;
      }
      if (!before(events_[least], event)) break;
      events_[at] = events_[least];
      at = least;
    }
    events_[at] = event;
  }

  std::vector<RankEvent> events_;
};

}  // namespace assay::simulate
