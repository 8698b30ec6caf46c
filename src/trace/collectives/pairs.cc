#include "trace/collectives/pairs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace assay::trace::collectives {
namespace {

using model::NcclFunction;

// Leads from one rank to another, both by their numbers in the job, within a process group.
struct Way {
  int from = 0;
  int to = 0;
  std::uint32_t group = 0;

  auto operator<=>(const Way&) const = default;
};

struct Messages {
  std::vector<Member> sends;     // in order
  std::vector<Member> receives;  // in order
};

std::optional<NcclFunction> direction(const Metadata& metadata) {
  if (!metadata.collective) return std::nullopt;
  const NcclFunction function = metadata.collective->function;
  return model::is_point_to_point(function) ? std::optional(function) : std::nullopt;
}

// Returns the rank at the other end, or std::nullopt where the trace does not tell it.
std::optional<int> other_end(const Event& event, const Group& group, int rank) {
  if (event.peer_rank >= 0) return event.peer_rank;
  if (group.members.size() != 2) return std::nullopt;
  if (group.members[0] == rank) return group.members[1];
  return group.members[1] == rank ? std::optional(group.members[0]) : std::nullopt;
}

std::map<Way, Messages> messages_by_way(const Recording& recording) {
  std::map<Way, Messages> ways;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    const RankEvents& rank = recording.ranks[r];
    for (const std::uint32_t position : rank.by_start) {
      const Event& event = rank.events[position];
      const Metadata& metadata = recording.catalog[event.metadata];
      const auto function = direction(metadata);
      if (!function) continue;
      const auto other = other_end(event, recording.catalog.group(metadata), rank.rank);
      if (!other || *other == rank.rank) continue;
      const bool sends = *function == NcclFunction::kSend;
      const Way way{.from = sends ? rank.rank : *other,
                    .to = sends ? *other : rank.rank,
                    .group = metadata.group};
      Messages& messages = ways[way];
      (sends ? messages.sends : messages.receives).push_back({r, position});
    }
  }
  return ways;
}

// Returns whether each send has its receive, of the same type and size.
bool agree(const Recording& recording, const Messages& messages) {
  return std::equal(messages.sends.begin(), messages.sends.end(), messages.receives.begin(),
                    messages.receives.end(), [&](const Member& send, const Member& receive) {
                      const Metadata& a = recording.catalog[event_of(recording, send).metadata];
                      const Metadata& b = recording.catalog[event_of(recording, receive).metadata];
                      return a.dtype == b.dtype && a.in_elements == b.in_elements;
                    });
}

void add_pairs(const Recording& recording, const Messages& messages, std::vector<Pair>& pairs) {
  std::map<MetadataId, bool> is_buffered;
  for (std::size_t k = 0; k < messages.sends.size(); ++k) {
    const Event& send = event_of(recording, messages.sends[k]);
    const Event& receive = event_of(recording, messages.receives[k]);
    bool& left_early = is_buffered[send.metadata];
    left_early = left_early || send.end < receive.start;
  }
  for (std::size_t k = 0; k < messages.sends.size(); ++k)
    pairs.push_back({.send = messages.sends[k],
                     .receive = messages.receives[k],
                     .is_buffered = is_buffered[event_of(recording, messages.sends[k]).metadata]});
}

// Tells which ranks, by position, collectives link, directly or through others.
class LinkedRanks {
 public:
  LinkedRanks(std::size_t ranks, const Matching& matching) : parents_(ranks) {
    std::iota(parents_.begin(), parents_.end(), 0U);
    for (const Collective& collective : matching.collectives)
      for (const Member& member : matching.members_of(collective))
        parents_[root(member.rank)] = root(matching.members_of(collective).front().rank);
  }

  bool are_linked(std::uint32_t a, std::uint32_t b) { return root(a) == root(b); }

 private:
  std::uint32_t root(std::uint32_t rank) {
    while (parents_[rank] != rank)
      rank = parents_[rank] = parents_[parents_[rank]];
    return rank;
  }

  std::vector<std::uint32_t> parents_;
};

bool end_together(const Recording& recording, const Pair& pair) {
  const Event& send = event_of(recording, pair.send);
  const Event& receive = event_of(recording, pair.receive);
  const double apart_us = recording.time.microseconds(std::fabs(send.end - receive.end));
  return apart_us <= together_us(std::min(send.duration_us, receive.duration_us));
}

std::pair<std::uint32_t, std::uint32_t> ranks_of(const Pair& pair) {
  return std::minmax({pair.send.rank, pair.receive.rank});
}

// Takes out the messages between ranks whose clocks nothing shows to be together.
void drop_unaligned(const Recording& recording, const Matching& clocks, std::vector<Pair>& pairs) {
  LinkedRanks ranks(recording.ranks.size(), clocks);
  std::set<std::pair<std::uint32_t, std::uint32_t>> together;
  for (const Pair& pair : pairs)
    if (end_together(recording, pair)) together.insert(ranks_of(pair));
  std::erase_if(pairs, [&](const Pair& pair) {
    return !ranks.are_linked(pair.send.rank, pair.receive.rank) &&
           together.count(ranks_of(pair)) == 0;
  });
}

}  // namespace

std::vector<Pair> pair_messages(const Recording& recording, const Matching& clocks) {
  std::vector<Pair> pairs;
  for (const auto& [way, messages] : messages_by_way(recording))
    if (agree(recording, messages)) add_pairs(recording, messages, pairs);
  drop_unaligned(recording, clocks, pairs);
  return pairs;
}

}  // namespace assay::trace::collectives
