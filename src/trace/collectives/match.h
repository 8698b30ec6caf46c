// Finds the events of different ranks that are one collective.
//
// The k-th event of a signature (group, name, type, sizes) on one rank belongs to the k-th event of
// that signature on every other rank of the group. Where the counts differ, or where that would
// join events that share no instant although all ranks must have been inside together, events are
// paired by their ends, which lie close together. The time is linear in the number of events.
//
// Where only the kernels' names were recorded, the ranks of a group are not known. All ranks then
// are taken for one group if they have equally many such events and leave nearly all of them
// together; else none of these events is matched.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "model/warnings.h"
#include "trace/collectives/event.h"

namespace assay::trace::collectives {

// One rank's part in a collective.
struct Member {
  std::uint32_t rank = 0;   // position in Recording::ranks
  std::uint32_t event = 0;  // position in that rank's events
};

struct Collective {
  MetadataId metadata = 0;   // that of the first member
  std::uint32_t first = 0;   // position in Matching::members
  std::uint32_t size = 0;    // number of members, which are in rank order
  std::uint32_t number = 0;  // position in the order of its group
};

// An event of a matched kind without a counterpart on each rank that uses the group.
struct Unmatched {
  Member member;
  std::vector<std::uint32_t> absent = {};  // positions in Recording::ranks
};

struct Matching {
  std::vector<Member> members;
  std::vector<Collective> collectives;  // by first member's rank, then time (compat: file order)
  std::vector<Unmatched> unmatched;     // by rank, then time

  [[nodiscard]] std::span<const Member> members_of(const Collective& collective) const {
    return std::span(members).subspan(collective.first, collective.size);
  }
};

// Returns within which time the kernels of a collective or a message end that ranks leave together,
// the shortest of which took `shortest_us`.
double together_us(double shortest_us);

// Names the events that are matched.
enum class Kinds : std::uint8_t {
  kCompared,     // those that the sheets compare: see is_matched()
  kThatMayJoin,  // also barriers, broadcasts and reduces, which ranks need not leave together
};

// Expects every rank that has events of a group to take part in all its collectives.
Matching match(const Recording& recording, Kinds kinds = Kinds::kCompared);

// Pairs events by order, and only of ranks that agree on their number. This needs no common clock.
Matching match_by_order(const Recording& recording);

inline const Event& event_of(const Recording& recording, const Member& member) {
  return recording.ranks[member.rank].events[member.event];
}

// When an event ran.
struct Span {
  double start = 0;
  double end = 0;
};

constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

// Pairs two ranks' events of one signature when one of the ranks has more of them. Returns for each
// of `events` the position of its partner in `reference`, or kAbsent. Both are ordered by start and
// on one clock. Partners overlap in time and keep their order; of several candidates, the one with
// the nearest end is taken. The time is linear in the number of events.
std::vector<std::uint32_t> align_by_ends(std::span<const Span> events,
                                         std::span<const Span> reference);

}  // namespace assay::trace::collectives
