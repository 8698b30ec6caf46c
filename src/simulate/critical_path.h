// The critical path of a schedule: the chain of work and messages without a gap that leads from the
// beginning to the end of the rank that ends last.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulate/simulate.h"

namespace assay::simulate {

enum class Spent : std::uint8_t {
  kCalc,        // a calculation
  kCpu,         // o + (s-1) O, on either side of a message
  kGap,         // g, on either side
  kBandwidth,   // (s-1) G, in the network or in the queue before the NIC
  kLatency,     // L
  kContention,  // waiting for other messages in a network that contends
};

inline constexpr std::size_t kNumSpent = 6;

// Returns a name such as "calculation" or "latency (L)".
const char* name_of(Spent spent);

struct Segment {
  OpId id;  // for the time of a message in the network: the send
  Spent spent = Spent::kCalc;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct CriticalPath {
  std::vector<Segment> segments = {};  // sorted by time
  std::array<std::int64_t, kNumSpent> total_ns = {};
  std::uint64_t messages = 0;
  std::vector<std::uint32_t> ranks = {};  // sorted

  // Returns the longest segments, longest first.
  [[nodiscard]] std::vector<Segment> longest(std::size_t count) const;
};

// Returns the path of an outcome that has finished. The segments add up to its longest_ns().
CriticalPath critical_path(const Outcome& outcome);

}  // namespace assay::simulate
