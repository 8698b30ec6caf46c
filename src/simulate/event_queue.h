// What will happen next. Equal times are told apart, so that a simulation has one result: by rank;
// then what waits for a resource, in the order in which it began to wait; then operations that have
// just become ready, by number; then messages, by source and number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::simulate {

enum class EventKind : std::uint32_t {
  kWake,     // a resource may be free: who began to wait as number `first` for resource `second`
  kReady,    // operation `first` has nothing left to wait for
  kArrival,  // operation `second` of rank `first` sent a message that is here now
};

struct Event {
  std::int64_t time_ns = 0;
  std::uint32_t rank = 0;
  EventKind kind = EventKind::kReady;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

inline bool before(const Event& a, const Event& b) {
  if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.first != b.first) return a.first < b.first;
  return a.second < b.second;
}

// A heap with four children a node: half as deep as a binary one, and the four lie together.
class EventQueue {
 public:
  [[nodiscard]] bool empty() const { return events_.empty(); }

  [[nodiscard]] const Event& top() const { return events_.front(); }

  void push(const Event& event) {
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
    const Event last = events_.back();
    events_.pop_back();
    if (!events_.empty()) sink(last);
  }

 private:
  static constexpr std::size_t kChildren = 4;

  void sink(const Event& event) {
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

  std::vector<Event> events_;
};

}  // namespace assay::simulate
