// Finds the events of different ranks that are one collective.
//
// The k-th event of a signature (group, name, type, sizes) on one rank belongs to the k-th of every
// other rank of the group. Where the counts differ, or where that would join events that share no
// instant although all ranks must have been inside together, events are paired by their ends,
// which lie close together. Linear in the number of events.
#pragma once

#include <cstdint>
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
  MetadataId metadata = 0;   // of the first member
  std::uint32_t first = 0;   // position in Matching::members
  std::uint32_t size = 0;    // members, by rank
  std::uint32_t number = 0;  // order within its group
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

// All ranks that have events of a group are expected to take part in its collectives.
Matching match(const Recording& recording);

// Only pairs ranks that agree on the number of events, by order: needs no common clock.
Matching match_by_order(const Recording& recording);

inline const Event& event_of(const Recording& recording, const Member& member) {
  return recording.ranks[member.rank].events[member.event];
}

}  // namespace assay::trace::collectives
