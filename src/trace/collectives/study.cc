#include "trace/collectives/study.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/communication_kernel.h"

namespace assay::trace::collectives {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

double gibps(double mib, double duration_us) {
  return duration_us > 0 ? mib / 1024 / (duration_us / kMicrosecondsPerSecond) : kUnknown;
}

// When the members of a collective start and end, in units of Timebase.
struct Extent {
  double first_start = std::numeric_limits<double>::infinity();
  double last_start = -std::numeric_limits<double>::infinity();
  double first_end = std::numeric_limits<double>::infinity();
  double last_end = -std::numeric_limits<double>::infinity();

  void add(const Event& event) {
    first_start = std::min(first_start, event.start);
    last_start = std::max(last_start, event.start);
    first_end = std::min(first_end, event.end);
    last_end = std::max(last_end, event.end);
  }

  static Extent unknown() { return {kUnknown, kUnknown, kUnknown, kUnknown}; }
};

Extent extent_of(const Study& study, const Collective& collective) {
  Extent extent;
  for (const Member& member : study.matching.members_of(collective))
    extent.add(event_of(study.recording, member));
  return extent;
}

void fill_waits(Study& study) {
  const Timebase& time = study.recording.time;
  study.wait_us.resize(study.matching.members.size());
  study.late_start_us.resize(study.matching.members.size());
  study.early_leave_us.resize(study.matching.members.size());
  for (std::uint32_t c = 0; c < study.matching.collectives.size(); ++c) {
    const Collective& collective = study.collective(c);
    const Extent extent = study.lacks_ranks(c) ? Extent::unknown() : extent_of(study, collective);
    for (std::uint32_t m = collective.first; m < collective.first + collective.size; ++m) {
      const Event& event = event_of(study.recording, study.matching.members[m]);
      study.wait_us[m] = time.microseconds(extent.last_start - event.start);
      study.late_start_us[m] = time.microseconds(event.start - extent.first_start);
      study.early_leave_us[m] = time.microseconds(extent.last_end - event.end);
    }
  }
}

int group_size(const Metadata& metadata, const Collective& collective) {
  return metadata.group_size > 0 ? metadata.group_size : static_cast<int>(collective.size);
}

// Keeps the time, which is the least that the ranks present took. Nothing else is known of a
// collective of which a rank is missing.
Synchronised synchronised_in_part(const Study& study, std::uint32_t position) {
  Synchronised result;
  result.collective = position;
  result.latency_us = std::numeric_limits<double>::infinity();
  for (const Member& member : study.matching.members_of(study.collective(position)))
    result.latency_us = std::min(result.latency_us, event_of(study.recording, member).duration_us);
  result.start_skew_us = result.end_skew_us = result.mean_wait_us = kUnknown;
  result.algorithm_gibps = result.bus_gibps = kUnknown;
  return result;
}

Synchronised synchronised(const Study& study, std::uint32_t position) {
  const Collective& collective = study.collective(position);
  const Metadata& metadata = study.metadata(position);
  const Extent extent = extent_of(study, collective);
  Synchronised result;
  result.collective = position;
  result.start_skew_us = study.recording.time.microseconds(extent.last_start - extent.first_start);
  result.end_skew_us = study.recording.time.microseconds(extent.last_end - extent.first_end);
  result.latency_us = std::numeric_limits<double>::infinity();
  double total_wait_us = 0;
  double longest_wait_us = -1;
  double shortest_wait_us = std::numeric_limits<double>::infinity();
  for (std::uint32_t m = 0; m < collective.size; ++m) {
    const Member& member = study.matching.members[collective.first + m];
    const double wait_us = study.wait_us[collective.first + m];
    result.latency_us = std::min(result.latency_us, event_of(study.recording, member).duration_us);
    total_wait_us += wait_us;
    result.one_is_first =
        wait_us != longest_wait_us && (result.one_is_first || wait_us > longest_wait_us);
    if (wait_us >= longest_wait_us) {
      longest_wait_us = wait_us;
      result.earliest_rank = study.recording.ranks[member.rank].rank;
    }
    result.one_is_last =
        wait_us != shortest_wait_us && (result.one_is_last || wait_us < shortest_wait_us);
    if (wait_us < shortest_wait_us) {
      shortest_wait_us = wait_us;
      result.last_member = m;
    }
  }
  result.one_is_first = result.one_is_first && collective.size > 1;
  result.one_is_last = result.one_is_last && collective.size > 1;
  result.mean_wait_us = total_wait_us / collective.size;
  result.algorithm_gibps = gibps(metadata.full_mib, result.latency_us);
  result.bus_gibps =
      result.algorithm_gibps * bus_factor(metadata, group_size(metadata, collective));
  return result;
}

Exchange exchange(const Study& study, std::uint32_t position) {
  const Collective& collective = study.collective(position);
  const Extent extent = extent_of(study, collective);
  const Timebase& time = study.recording.time;
  Exchange result;
  result.collective = position;
  result.wall_us = time.microseconds(extent.last_end - extent.first_start);
  result.start_skew_us = time.microseconds(extent.last_start - extent.first_start);
  result.end_skew_us = time.microseconds(extent.last_end - extent.first_end);
  result.shortest_us = std::numeric_limits<double>::infinity();
  result.slowest_rank_gibps = std::numeric_limits<double>::infinity();
  double largest_mib = 0;
  double total_duration_us = 0;
  for (const Member& member : study.matching.members_of(collective)) {
    const Event& event = event_of(study.recording, member);
    const Metadata& metadata = study.catalog()[event.metadata];
    const double rank_gibps = gibps(metadata.in_mib, event.duration_us);
    result.total_mib += metadata.in_mib;
    result.total_elements += std::max<std::int64_t>(metadata.in_elements, 0);
    largest_mib = std::max(largest_mib, metadata.in_mib);
    total_duration_us += event.duration_us;
    result.longest_us = std::max(result.longest_us, event.duration_us);
    result.shortest_us = std::min(result.shortest_us, event.duration_us);
    result.fastest_rank_gibps = std::max(result.fastest_rank_gibps, rank_gibps);
    result.slowest_rank_gibps = std::min(result.slowest_rank_gibps, rank_gibps);
  }
  result.mean_us = total_duration_us / collective.size;
  result.throughput_gibps = gibps(result.total_mib, result.wall_us);
  result.algorithm_gibps = result.throughput_gibps / collective.size;
  const Metadata& metadata = study.metadata(position);
  result.bus_gibps =
      result.algorithm_gibps * bus_factor(metadata, group_size(metadata, collective));
  result.size_imbalance =
      result.total_mib > 0 ? largest_mib / (result.total_mib / collective.size) : kUnknown;
  if (std::isnan(result.total_mib))
    result.fastest_rank_gibps = result.slowest_rank_gibps = kUnknown;
  if (study.lacks_ranks(position)) {
    result.throughput_gibps = result.algorithm_gibps = result.bus_gibps = kUnknown;
    result.start_skew_us = result.end_skew_us = result.size_imbalance = kUnknown;
  }
  return result;
}

void measure(Study& study) {
  for (std::uint32_t c = 0; c < study.matching.collectives.size(); ++c) {
    if (synchronises(study.metadata(c))) {
      study.synchronised.push_back(study.lacks_ranks(c) ? synchronised_in_part(study, c)
                                                        : synchronised(study, c));
    } else {
      study.exchanges.push_back(exchange(study, c));
    }
  }
}

std::string place(const RankEvents& rank, const Event& event) {
  return "rank " + std::to_string(rank.rank) + ", time " + std::to_string(event.start_ns) + " ns";
}

void warn_of_unmatched(Study& study) {
  for (const Unmatched& unmatched : study.matching.unmatched) {
    study.warnings.add("collective without a counterpart on each rank of its group",
                       "left out of the sheets that compare ranks; listed in unmatched_collectives",
                       place(study.recording.ranks[unmatched.member.rank],
                             event_of(study.recording, unmatched.member)));
  }
}

// Returns the ranks of its group, as far as they are recorded, that have no part in a collective.
std::set<int> missing_ranks(const Study& study, std::uint32_t position) {
  const auto& group = study.catalog().group(study.metadata(position)).members;
  std::set<int> ranks(group.begin(), group.end());
  for (const Member& member : study.matching.members_of(study.collective(position)))
    ranks.erase(study.recording.ranks[member.rank].rank);
  return ranks;
}

void warn_of_missing_ranks(Study& study) {
  std::set<int> missing;
  std::set<std::uint32_t> groups;  // all collectives of a group lack the same ranks
  std::int64_t count = 0;
  for (std::uint32_t c = 0; c < study.matching.collectives.size(); ++c) {
    if (!study.lacks_ranks(c)) continue;
    ++count;
    if (groups.insert(study.metadata(c).group).second) missing.merge(missing_ranks(study, c));
  }
  if (count == 0) return;
  const std::vector<int> ranks(missing.begin(), missing.end());
  const std::string who = ranks.empty()       ? "some ranks"
                          : ranks.size() == 1 ? "rank " + core::join(ranks, "")
                                              : "ranks " + core::join(ranks, ", ");
  study.warnings.add(
      "collectives without " + who + " of their group",
      "no skew, bandwidth or last rank, since their times may hold waits for missing ranks", "",
      count);
}

void warn_of_missing_metadata(Study& study) {
  for (const RankEvents& rank : study.recording.ranks) {
    for (const Event& event : rank.events) {
      const model::TextId name = study.catalog()[event.metadata].name;
      if (name != 0 && study.catalog().text(name) != kSendOrReceive) continue;
      study.warnings.add("communication kernel without a recorded collective",
                         "only in nccl_long and nccl_summary_long", place(rank, event));
    }
  }
}

// Warns of analysed ranks that belong to a group but recorded none of its collectives.
void warn_of_silent_ranks(Study& study) {
  const auto& groups = study.catalog().groups();
  std::vector<std::set<int>> seen(groups.size());
  for (const RankEvents& rank : study.recording.ranks) {
    for (const Event& event : rank.events)
      seen[study.catalog()[event.metadata].group].insert(rank.rank);
  }
  for (const RankEvents& rank : study.recording.ranks) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto& members = groups[g].members;
      const bool belongs = std::find(members.begin(), members.end(), rank.rank) != members.end();
      if (!belongs || seen[g].count(rank.rank) > 0) continue;
      study.warnings.add("rank recorded no collective of a group that it belongs to",
                         "its collectives lack this rank",
                         "rank " + std::to_string(rank.rank) + ", group " +
                             std::string(study.catalog().text(groups[g].name)));
    }
  }
}

void warn_of_idle_devices(Study& study) {
  const Recording& recording = study.recording;
  if (recording.ranks_per_node == recording.devices_listed) return;
  study.warnings.add(
      "ranks with the same device number, so they ran on several hosts",
      fmt::format(
          "ranks per host taken as {}, not the {} devices that it lists; --gpus-per-node of "
          "'assay trace' overrules this",
          recording.ranks_per_node, recording.devices_listed),
      fmt::format("ranks 0 and {}", recording.ranks_per_node));
}

// Processes that see one GPU each, by their environment, all have device 0, however many share a
// host.
void warn_of_single_devices(Study& study) {
  const Recording& recording = study.recording;
  const bool is_told = recording.devices_listed != 1 || recording.is_node_size_given;
  if (is_told || recording.ranks.size() < 2) return;
  study.warnings.add("traces that list one GPU each",
                     "each rank is taken for a host of its own; --gpus-per-node of 'assay trace' "
                     "tells how many ranks a host has",
                     fmt::format("{} ranks", recording.ranks.size()));
}

void align_clocks(Study& study) {
  const auto& ranks = study.recording.ranks;
  const bool several_nodes =
      !ranks.empty() && std::any_of(ranks.begin(), ranks.end(),
                                    [&](auto& r) { return r.node != ranks.front().node; });
  if (study.is_compat()) return;
  const Matching matching = match_by_order(study.recording);
  if (several_nodes) {
    study.node_offsets = estimate_node_offsets(study.recording, matching);
    remove_node_offsets(study.recording, study.node_offsets, study.removed);
  }
  const std::vector<NodeOffset> offsets = estimate_rank_offsets(study.recording, matching);
  remove_rank_offsets(study.recording, offsets, study.removed);
  for (const NodeOffset& offset : offsets) {
    if (!offset.applied) continue;
    study.warnings.add(
        "ranks of a host whose clocks are apart",
        "their times are shifted (clock_offsets); --gpus-per-node tells which ranks share a host",
        fmt::format("rank {} by {:.6g} us", ranks[static_cast<std::size_t>(offset.node)].rank,
                    offset.clock.offset_us));
  }
}

// An offset and a drift do not follow a clock that was set, or whose rate changed.
void warn_of_uneven_clocks(Study& study) {
  constexpr double kMostOfStarts = 0.5;
  const bool has_several_clocks =
      std::any_of(study.offsets.begin(), study.offsets.end(),
                  [](const RankOffset& offset) { return offset.applied; });
  if (!has_several_clocks) return;
  std::vector<double> starts_us;
  std::vector<double> ends_us;
  for (const Synchronised& item : study.synchronised) {
    if (study.lacks_ranks(item.collective)) continue;
    starts_us.push_back(item.start_skew_us);
    ends_us.push_back(item.end_skew_us);
  }
  if (starts_us.empty()) return;
  const double start_us = core::mean(starts_us);
  const double end_us = core::mean(ends_us);
  if (!(end_us > kMostOfStarts * start_us)) return;
  study.warnings.add(
      "ranks leave collectives about as far apart as they come, as where clocks run unevenly",
      "skews and waits tell little of the ranks",
      fmt::format("on average {:.3g} us of ends, {:.3g} of starts", end_us, start_us));
}

std::vector<Interval> counted_intervals(const RankAnalysis& rank, GpuWork work) {
  std::vector<Interval> result;
  for (std::size_t i = 0; i < rank.gpu_intervals.size(); ++i) {
    if (rank.counted[i] && rank.gpu_work[i] == work) result.push_back(rank.gpu_intervals[i]);
  }
  return merged(std::move(result));
}

}  // namespace

bool Study::lacks_ranks(std::uint32_t collective_position) const {
  if (is_compat()) return false;
  const Metadata& recorded = metadata(collective_position);
  const std::size_t present = collective(collective_position).size;
  return recorded.group_size > static_cast<std::int64_t>(present) ||
         catalog().group(recorded).members.size() > present;
}

Study study_collectives(Recording recording) {
  Study study{std::move(recording)};
  warn_of_idle_devices(study);
  warn_of_single_devices(study);
  align_clocks(study);
  study.matching = match(study.recording);
  study.offsets = rank_offsets(study.recording, study.matching, study.removed);
  fill_waits(study);
  measure(study);
  warn_of_uneven_clocks(study);
  warn_of_unmatched(study);
  warn_of_missing_ranks(study);
  warn_of_missing_metadata(study);
  warn_of_silent_ranks(study);
  return study;
}

double kernel_bus_gibps(const Metadata& metadata, double duration_us) {
  return gibps(metadata.full_mib, duration_us) * bus_factor(metadata, metadata.group_size);
}

double overlap_percent(const RankAnalysis& rank) {
  const auto communication = counted_intervals(rank, GpuWork::kCommunication);
  const auto computation = counted_intervals(rank, GpuWork::kComputation);
  const auto total = total_length(communication);
  if (total == 0) return kUnknown;
  const auto shared = total_length(intersection(communication, computation));
  return 100 * static_cast<double>(shared) / static_cast<double>(total);
}

}  // namespace assay::trace::collectives
