#include "trace/collectives/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics.h"

namespace assay::trace::collectives {
namespace {

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

// Returns, for each pair of nodes, the median end on the second less that on the first in every
// collective that both share, in microseconds.
std::map<NodePair, std::vector<double>> end_differences(const Recording& recording,
                                                        const Matching& matching) {
  std::map<NodePair, std::vector<double>> differences;
  for (const Collective& collective : matching.collectives) {
    if (!is_evidence(recording, collective)) continue;
    std::map<int, std::vector<double>> ends;
    for (const Member& member : matching.members_of(collective))
      ends[recording.ranks[member.rank].node].push_back(event_of(recording, member).end);
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

}  // namespace

std::vector<NodeOffset> estimate_node_offsets(const Recording& recording,
                                              const Matching& matching) {
  if (recording.ranks.empty()) return {};
  const auto differences = end_differences(recording, matching);
  std::map<int, NodeOffset> known;
  known[recording.ranks.front().node] = {recording.ranks.front().node};
  while (reach_further(differences, known)) {
  }
  for (const RankEvents& rank : recording.ranks)
    known.emplace(rank.node, NodeOffset{rank.node});
  std::vector<NodeOffset> result;
  result.reserve(known.size());
  for (const auto& entry : known)
    result.push_back(entry.second);
  return result;
}

void remove_offsets(Recording& recording, const std::vector<NodeOffset>& offsets) {
  for (RankEvents& rank : recording.ranks) {
    const auto found = std::find_if(offsets.begin(), offsets.end(), [&](const NodeOffset& offset) {
      return offset.node == rank.node;
    });
    if (found == offsets.end() || !found->applied) continue;
    // The shift is a whole number of units, so that differences of times stay exact.
    const double shift = std::round(found->offset_us * recording.time.units_per_us);
    for (Event& event : rank.events) {
      event.start -= shift;
      event.end -= shift;
    }
  }
}

std::vector<RankOffset> rank_offsets(const Recording& recording,
                                     const Matching& matching,
                                     const std::vector<NodeOffset>& nodes) {
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
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const NodeOffset& n) { return n.node == rank.node; });
    const bool applied = node != nodes.end() && node->applied;
    const double removed_us = applied ? node->offset_us : 0;
    const double center = residuals[r].empty() ? 0 : core::median(residuals[r]);
    result.push_back({rank.rank, rank.node, removed_us + center,
                      median_deviation(residuals[r], center),
                      static_cast<std::int64_t>(residuals[r].size()), removed_us, applied});
  }
  return result;
}

}  // namespace assay::trace::collectives
