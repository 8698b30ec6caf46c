// The next events of a simulation, of any kind that before(a, b) puts in order. A heap with four
// children per node is half as deep as a binary heap, and the four are adjacent.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::simulate {

template <class Event>
class EventHeap {
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
