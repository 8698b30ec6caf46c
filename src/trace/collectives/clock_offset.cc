#include "trace/collectives/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/statistics.h"

namespace assay::trace::collectives {
namespace {

// The ranks of a host share a clock, and leave a collective within some microseconds. A larger
// offset that exceeds its own spread by far is another clock.
constexpr double kSameClockUs = 20;
constexpr double kSpreads = 4;
// Two collectives do not tell how far ends are spread: ranks of a host may leave them so far apart.
constexpr std::int64_t kFewSamples = 2;
constexpr double kSameClockOfFewUs = 1000;

double median_deviation(const std::vector<double>& values, double center) {
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values)
    deviations.push_back(std::fabs(value - center));
  return values.empty() ? 0 : core::median(deviations);
}

bool is_evidence(const Recording& recording, const Collective& collective) {
  return collective.size > 1 && synchronises(recording.catalog[collective.metadata]);
}

using NodePair = std::pair<int, int>;
using NodesOfRanks = std::vector<int>;  // by position of the rank

// When a collective ended on each of two nodes, in units of Timebase.
struct Ends {
  double first = 0;
  double second = 0;
};

using EndsOfPairs = std::map<NodePair, std::vector<Ends>>;

// Returns, for each pair of nodes, the median ends of every collective that both share.
EndsOfPairs shared_ends(const Recording& recording,
                        const Matching& matching,
                        const NodesOfRanks& nodes) {
  EndsOfPairs shared;
  for (const Collective& collective : matching.collectives) {
    if (!is_evidence(recording, collective)) continue;
    std::map<int, std::vector<double>> ends;
    for (const Member& member : matching.members_of(collective))
      ends[nodes[member.rank]].push_back(event_of(recording, member).end);
    const double first_end = core::median(ends.begin()->second);
    for (auto other = std::next(ends.begin()); other != ends.end(); ++other)
      shared[{ends.begin()->first, other->first}].push_back(
          {first_end, core::median(other->second)});
  }
  return shared;
}

// Returns the offset of a node that shares collectives with one whose offset is known.
NodeOffset reached(const NodeOffset& known, int node, const std::vector<ClockPair>& pairs) {
  const ClockFit beside_known = fit_clock(pairs);
  NodeOffset offset{.node = node, .clock = joined(known.clock, beside_known)};
  offset.spread_us = known.spread_us + deviation_us(pairs, beside_known);
  offset.samples = static_cast<std::int64_t>(pairs.size());
  offset.applied =
      std::fabs(offset.clock.offset_us) > offset.spread_us || offset.clock.drift_ppm != 0;
  return offset;
}

// Finds the offsets of nodes that share collectives with a node whose offset is known. Returns
// whether it found any.
bool reach_further(const EndsOfPairs& shared,
                   const Timebase& time,
                   std::map<int, NodeOffset>& known) {
  bool found = false;
  for (const auto& [nodes, ends] : shared) {
    const bool has_first = known.count(nodes.first) > 0;
    if (has_first == (known.count(nodes.second) > 0)) continue;
    std::vector<ClockPair> pairs;
    pairs.reserve(ends.size());
    for (const auto& [first, second] : ends) {
      const double reference = has_first ? first : second;
      const double other = has_first ? second : first;
      pairs.push_back({time.microseconds(reference), time.microseconds(other - reference)});
    }
    const int from = has_first ? nodes.first : nodes.second;
    const int to = has_first ? nodes.second : nodes.first;
    known[to] = reached(known[from], to, pairs);
    found = true;
  }
  return found;
}

std::vector<NodeOffset> estimate_offsets(const Recording& recording,
                                         const Matching& matching,
                                         const NodesOfRanks& nodes) {
  if (nodes.empty()) return {};
  const EndsOfPairs shared = shared_ends(recording, matching, nodes);
  std::map<int, NodeOffset> known;
  known[nodes.front()] = {nodes.front()};
  while (reach_further(shared, recording.time, known)) {
  }
  for (const int node : nodes)
    known.emplace(node, NodeOffset{node});
  std::vector<NodeOffset> result;
  result.reserve(known.size());
  for (const auto& entry : known)
    result.push_back(entry.second);
  return result;
}

// Returns what a rank's clock gains or loses over its events.
double most_gained_us(const RankEvents& rank, const Timebase& time, const ClockFit& clock) {
  if (rank.by_start.empty()) return 0;
  const auto ahead_us = [&](std::uint32_t event) {
    return clock.ahead_us(time.microseconds(rank.events[event].end));
  };
  return std::fabs(ahead_us(rank.by_start.back()) - ahead_us(rank.by_start.front()));
}

void remove_offsets(Recording& recording,
                    const std::vector<NodeOffset>& offsets,
                    const NodesOfRanks& nodes,
                    std::vector<ClockFit>& removed) {
  removed.resize(nodes.size());
  const Timebase& time = recording.time;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const auto found = std::find_if(offsets.begin(), offsets.end(), [&](const NodeOffset& offset) {
      return offset.node == nodes[r];
    });
    if (found == offsets.end() || !found->applied) continue;
    removed[r] = joined(found->clock, removed[r]);
    // The shift is a whole number of units, so that differences of times stay exact.
    const auto shift = [&](double reading) {
      return std::round(found->clock.ahead_us(time.microseconds(reading)) * time.units_per_us);
    };
    for (Event& event : recording.ranks[r].events) {
      event.start -= shift(event.start);
      event.end -= shift(event.end);
    }
  }
}

NodesOfRanks nodes_of(const Recording& recording) {
  NodesOfRanks nodes;
  for (const RankEvents& rank : recording.ranks)
    nodes.push_back(rank.node);
  return nodes;
}

NodesOfRanks each_its_own(const Recording& recording) {
  NodesOfRanks nodes(recording.ranks.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

}  // namespace

std::vector<NodeOffset> estimate_node_offsets(const Recording& recording,
                                              const Matching& matching) {
  return estimate_offsets(recording, matching, nodes_of(recording));
}

std::vector<NodeOffset> estimate_rank_offsets(const Recording& recording,
                                              const Matching& matching) {
  auto offsets = estimate_offsets(recording, matching, each_its_own(recording));
  for (NodeOffset& offset : offsets) {
    const RankEvents& rank = recording.ranks[static_cast<std::size_t>(offset.node)];
    const double least_us = offset.samples > kFewSamples ? kSameClockUs : kSameClockOfFewUs;
    const double apart_us = std::max(std::fabs(offset.clock.offset_us),
                                     most_gained_us(rank, recording.time, offset.clock));
    offset.applied = apart_us > std::max(least_us, kSpreads * offset.spread_us);
  }
  return offsets;
}

void remove_node_offsets(Recording& recording,
                         const std::vector<NodeOffset>& offsets,
                         std::vector<ClockFit>& removed) {
  remove_offsets(recording, offsets, nodes_of(recording), removed);
}

void remove_rank_offsets(Recording& recording,
                         const std::vector<NodeOffset>& offsets,
                         std::vector<ClockFit>& removed) {
  remove_offsets(recording, offsets, each_its_own(recording), removed);
}

std::vector<RankOffset> rank_offsets(const Recording& recording,
                                     const Matching& matching,
                                     const std::vector<ClockFit>& removed) {
  std::vector<std::vector<double>> residuals(recording.ranks.size());
  std::vector<double> ends;
  for (const Collective& collective : matching.collectives) {
    if (!is_evidence(recording, collective)) continue;
    ends.clear();
    for (const Member& member : matching.members_of(collective))
      ends.push_back(event_of(recording, member).end);
    const double center = core::median(ends);
    for (const Member& member : matching.members_of(collective)) {
      residuals[member.rank].push_back(
          recording.time.microseconds(event_of(recording, member).end - center));
    }
  }
  std::vector<RankOffset> result;
  for (std::size_t r = 0; r < recording.ranks.size(); ++r) {
    const RankEvents& rank = recording.ranks[r];
    const ClockFit own = r < removed.size() ? removed[r] : ClockFit{};
    const double center = residuals[r].empty() ? 0 : core::median(residuals[r]);
    result.push_back({.rank = rank.rank,
                      .node = rank.node,
                      .offset_us = own.offset_us + center,
                      .spread_us = median_deviation(residuals[r], center),
                      .samples = static_cast<std::int64_t>(residuals[r].size()),
                      .removed_us = own.offset_us,
                      .drift_ppm = own.drift_ppm,
                      .applied = own.offset_us != 0 || own.drift_ppm != 0});
  }
  return result;
}

}  // namespace assay::trace::collectives
