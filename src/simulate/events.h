// The next events of a schedule's ranks. Events at the same time have a fixed order, so that a
// simulation has one result: first what happens in the network (which has the rank 0); then by
// rank; then waiters for a resource, in the order in which they began to wait; then operations that
// have just become ready, by number; then messages, by source and number.
#pragma once

#include <cstdint>

#include "simulate/event_heap.h"

namespace assay::simulate {

enum class EventKind : std::uint32_t {
  kDeparture,  // messages leave a network that contends
  kChange,     // links of that network become slower or faster, fail or come back
  kEntry,      // operation `second` of rank `first` gives its message to that network
  kWake,     // resource `second` may be free for the operation that began to wait as number `first`
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

using EventQueue = EventHeap<Event>;

}  // namespace assay::simulate
