// Pairs two ranks' events of one signature when one of the ranks has more of them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace assay::trace::collectives {

struct Span {
  double start = 0;
  double end = 0;
};

constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

// For each of `events` the position of its partner in `reference`, or kAbsent. Both are ordered by
// start and on one clock. Partners overlap in time, keep their order, and of the candidates that
// overlap the one with the nearest end wins. Linear in the number of events.
std::vector<std::uint32_t> align_by_ends(std::span<const Span> events,
                                         std::span<const Span> reference);

}  // namespace assay::trace::collectives
