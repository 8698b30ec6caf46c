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

// Returns, for each pair of nodes, the median end on the second less that on the first in every
// collective that both share, in microseconds.
std::map<NodePair, std::vector<double>> end_differences(const Recording& recording,
                                                        const Matching& matching,
                                                        const NodesOfRanks& nodes) {
  std::map<NodePair, std::vector<double>> differences;
  for (const Collective& collective : matching.collectives) {
    if (!is_evidence(recording, collective)) continue;
    std::map<int, std::vector<double>> ends;
    for (const Member& member : matching.members_of(collective))
      ends[nodes[member.rank]].push_back(event_of(recording, member).end);
    const double first_end = core::median(ends.begin()->second);
    for (auto other = std::next(ends.begin()); other != ends.end(); ++other) {
      differences[{ends.begin()->first, other->first}].push_back(
          recording.time.microseconds(core::median(other->second) - first_end));
    }
  }
  return differences;
}

// Finds the offsets of nodes that share collectives with a node whose offset is known. Returns
// whether it found any.
bool reach_further(const std::map<NodePair, std::vector<double>>& differences,
                   std::map<int, NodeOffset>& known) {
  bool reached = false;
  for (const auto& [pair, values] : differences) {
    const bool has_first = known.count(pair.first) > 0;
    if (has_first == (known.count(pair.second) > 0)) continue;
    const double step = core::median(values);
    const int from = has_first ? pair.first : pair.second;
    const int to = has_first ? pair.second : pair.first;
    NodeOffset offset;
    offset.node = to;
    offset.offset_us = known[from].offset_us + (has_first ? step : -step);
    offset.spread_us = known[from].spread_us + median_deviation(values, step);
    offset.samples = static_cast<std::int64_t>(values.size());
    offset.applied = std::fabs(offset.offset_us) > offset.spread_us;
    known[to] = offset;
    reached = true;
  }
  return reached;
}

std::vector<NodeOffset> estimate_offsets(const Recording& recording,
                                         const Matching& matching,
                                         const NodesOfRanks& nodes) {
  if (nodes.empty()) return {};
  const auto differences = end_differences(recording, matching, nodes);
  std::map<int, NodeOffset> known;
  known[nodes.front()] = {nodes.front()};
  while (reach_further(differences, known)) {
  }
  for (const int node : nodes)
    known.emplace(node, NodeOffset{node});
  std::vector<NodeOffset> result;
  result.reserve(known.size());
  for (const auto& entry : known)
    result.push_back(entry.second);
  return result;
}

void remove_offsets(Recording& recording,
                    const std::vector<NodeOffset>& offsets,
                    const NodesOfRanks& nodes,
                    std::vector<double>& removed_us) {
  removed_us.resize(nodes.size());
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const auto found = std::find_if(offsets.begin(), offsets.end(), [&](const NodeOffset& offset) {
      return offset.node == nodes[r];
    });
    if (found == offsets.end() || !found->applied) continue;
    removed_us[r] += found->offset_us;
    // The shift is a whole number of units, so that differences of times stay exact.
    const double shift = std::round(found->offset_us * recording.time.units_per_us);
    for (Event& event : recording.ranks[r].events) {
      event.start -= shift;
      event.end -= shift;
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
    const double least_us = offset.samples > kFewSamples ? kSameClockUs : kSameClockOfFewUs;
    offset.applied = std::fabs(offset.offset_us) > std::max(least_us, kSpreads * offset.spread_us);
  }
  return offsets;
}

void remove_node_offsets(Recording& recording,
                         const std::vector<NodeOffset>& offsets,
                         std::vector<double>& removed_us) {
  remove_offsets(recording, offsets, nodes_of(recording), removed_us);
}

void remove_rank_offsets(Recording& recording,
                         const std::vector<NodeOffset>& offsets,
                         std::vector<double>& removed_us) {
  remove_offsets(recording, offsets, each_its_own(recording), removed_us);
}

std::vector<RankOffset> rank_offsets(const Recording& recording,
                                     const Matching& matching,
                                     const std::vector<double>& removed_us) {
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
    const double removed = r < removed_us.size() ? removed_us[r] : 0;
    const double center = residuals[r].empty() ? 0 : core::median(residuals[r]);
    result.push_back({rank.rank, rank.node, removed + center,
                      median_deviation(residuals[r], center),
                      static_cast<std::int64_t>(residuals[r].size()), removed, removed != 0});
  }
  return result;
}

}  // namespace assay::trace::collectives
