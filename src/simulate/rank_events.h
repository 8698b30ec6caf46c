// The next events of one rank. Ranks meet only in messages, so that the order of events matters
// within a rank: at the same time first waiters for a resource, in the order in which they began to
// wait; then operations that have just become ready, by number; then messages, by source and
// number.
#pragma once

#include <cstdint>

#include "simulate/event_heap.h"

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

using RankEvents = EventHeap<RankEvent>;

}  // namespace assay::simulate
