// Everything that the sheets of the collective report show, computed once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/warnings.h"
#include "trace/analysis.h"
#include "trace/collectives/clock_offset.h"
#include "trace/collectives/event.h"
#include "trace/collectives/match.h"

namespace assay::trace::collectives {

// Durations are microseconds, sizes 2^20 bytes, bandwidths 2^30 bytes per second. NaN means
// unknown: where a rank of the group is missing, as one without a trace, it may have come last, so
// that nobody knows the waits, the skew and the time of the transfer.

// A collective that no rank leaves before all have arrived.
struct Synchronised {
  std::uint32_t collective = 0;  // position in Matching::collectives
  double latency_us = 0;         // the shortest kernel, which is that of the last rank to arrive
  double start_skew_us = 0;
  double end_skew_us = 0;
  double mean_wait_us = 0;
  double algorithm_gibps = 0;
  double bus_gibps = 0;
  int earliest_rank = 0;          // the largest rank if several came first
  bool one_is_first = false;      // not several, to the nanosecond, and no rank is missing
  std::uint32_t last_member = 0;  // position among the members; the first if several came last
  bool one_is_last = false;       // not several, to the nanosecond, and no rank is missing
};

// An exchange in which ranks may send different amounts.
struct Exchange {
  std::uint32_t collective = 0;
  double total_mib = 0;
  std::int64_t total_elements = 0;
  double wall_us = 0;  // from the first start to the last end
  double longest_us = 0;
  double shortest_us = 0;
  double mean_us = 0;
  double throughput_gibps = 0;  // of all ranks together
  double algorithm_gibps = 0;   // of the mean rank
  double bus_gibps = 0;
  double fastest_rank_gibps = 0;
  double slowest_rank_gibps = 0;
  double size_imbalance = 0;  // largest input over mean input
  double start_skew_us = 0;
  double end_skew_us = 0;
};

struct Study {
  Recording recording;
  Matching matching = {};
  std::vector<NodeOffset> node_offsets = {};
  std::vector<ClockFit> removed = {};  // of the clocks of the ranks, by their position
  std::vector<RankOffset> offsets = {};
  std::vector<Synchronised> synchronised = {};
  std::vector<Exchange> exchanges = {};
  // One entry for each entry of Matching::members.
  std::vector<double> wait_us = {};         // until the last rank arrived
  std::vector<double> late_start_us = {};   // since the first rank arrived
  std::vector<double> early_leave_us = {};  // until the last rank left
  model::Warnings warnings = {};

  [[nodiscard]] bool is_compat() const { return recording.compat == Compat::kTraceLens; }

  [[nodiscard]] const Catalog& catalog() const { return recording.catalog; }

  [[nodiscard]] const Collective& collective(std::uint32_t position) const {
    return matching.collectives[position];
  }

  [[nodiscard]] const Metadata& metadata(std::uint32_t collective_position) const {
    return catalog()[collective(collective_position).metadata];
  }

  // Returns whether a rank of its group has no part in it. The public tool takes the ranks that it
  // has for the group.
  [[nodiscard]] bool lacks_ranks(std::uint32_t collective_position) const;
};

Study study_collectives(Recording recording);

// Returns the bus bandwidth of one rank's kernel over its own time, which includes its wait for
// other ranks. It is all that can be told of broadcasts, reduces, sends and receives, which are not
// matched across ranks.
double kernel_bus_gibps(const Metadata& metadata, double duration_us);

// The time that one rank waits for the others and that they wait for it. Nobody comes first, or
// last, to a collective to which several ranks come so at the same nanosecond.
struct Straggler {
  const RankEvents* rank = nullptr;
  double total_wait_us = 0;
  std::int64_t arrived_last = 0;
  std::int64_t arrived_first = 0;
  std::int64_t collectives = 0;  // the synchronising ones of whole groups in which it took part
  double total_duration_us = 0;  // sum over all its communication kernels
  double chance_last = 0;        // how often it would come last if all ranks were alike
  double chance_variance = 0;    // of that number

  // Returns whether one of so many ranks, all alike, may well come last as often as this one.
  [[nodiscard]] bool may_be_chance(std::size_t ranks) const;

  [[nodiscard]] double mean_wait_us() const {
    return collectives == 0 ? kUnknown : total_wait_us / static_cast<double>(collectives);
  }

  [[nodiscard]] double last_percent() const {
    return collectives == 0
               ? kUnknown
               : 100 * static_cast<double>(arrived_last) / static_cast<double>(collectives);
  }
};

// Returns all ranks, the one that waited least first: that is the one for which the others wait.
// Those of which nobody knows how long they waited come last.
std::vector<Straggler> stragglers(const Study& study);

// Returns the share of a rank's counted communication time during which counted computation also
// runs, in percent. NaN: the rank does not communicate.
double overlap_percent(const RankAnalysis& rank);

}  // namespace assay::trace::collectives
