// The communication kernels of every rank as rows on one time axis.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/analysis.h"
#include "trace/collectives/metadata.h"

namespace assay::trace::collectives {

// The unit of times. Times are doubles so that both modes share their arithmetic: whole nanoseconds
// since the first event of all ranks (exact) or, in compat mode, the public tool's absolute
// microseconds.
struct Timebase {
  std::int64_t origin_ns = 0;
  double units_per_us = 1000;

  [[nodiscard]] double microseconds(double units) const { return units / units_per_us; }

  // A sum of whole nanoseconds is a whole number of them. This removes the rounding error that
  // adding doubles leaves.
  [[nodiscard]] double exact(double sum_us) const {
    return units_per_us == 1 ? sum_us : std::round(sum_us * units_per_us) / units_per_us;
  }
};

struct Event {
  double start = 0;  // in units of Timebase
  double end = 0;
  double duration_us = 0;
  std::int64_t start_ns = 0;  // as recorded
  MetadataId metadata = 0;
  std::int32_t stream = -1;
  std::uint32_t channels = 0;   // thread blocks of the launch, one per channel; 0: unknown
  std::uint32_t threads = 0;    // threads per block; 0: unknown
  std::int32_t peer_rank = -1;  // of a send or a receive: the rank at the other end; -1: unknown
  std::uint32_t index_in_group = 0;
};

struct RankEvents {
  int rank = 0;
  int node = 0;
  std::vector<Event> events;            // in file order
  std::vector<std::uint32_t> by_start;  // positions in `events`
  double overlap_percent = kUnknown;    // see RankRecording
};

// The communication events of all ranks, by rank.
struct Recording {
  Compat compat = Compat::kNone;
  int ranks_per_node = 0;           // 0: the traces name no devices, so all ranks count as one node
  bool is_node_size_given = false;  // by --gpus-per-node
  int devices_listed = 0;  // of a node; more than its ranks when these leave some devices idle
  int world_size = 0;      // ranks of the job, as far as the traces tell
  Timebase time;
  Catalog catalog;
  std::vector<RankEvents> ranks;
};

// The communication of one rank, with all that the ranks' common report says of this rank, so that
// its trace may be freed.
struct RankRecording {
  Compat compat = Compat::kNone;
  int rank = 0;
  int world_size = 0;  // 0: the trace does not say
  int devices_listed = 0;
  int device = -1;            // on which it did most of its work; -1 when no event names one
  Timebase time;              // since the first event of this rank
  Catalog catalog;            // of this rank alone, in the order of first use
  std::vector<Event> events;  // in file order; their numbers in groups are not known yet
  // The share of its counted communication time during which counted computation also runs, in
  // percent. NaN: the rank does not communicate, or nobody asked.
  double overlap_percent = kUnknown;
};

// Takes the counted communication kernels or, in compat mode, all that the public tool takes.
RankRecording record_rank(const RankAnalysis& rank);

// Joins ranks that may come in any order. `gpus_per_node` replaces the number that the traces say.
Recording join_ranks(std::span<const RankRecording> ranks,
                     std::optional<int> gpus_per_node = std::nullopt);

// Does both.
Recording extract(std::span<const RankAnalysis> ranks,
                  std::optional<int> gpus_per_node = std::nullopt);

}  // namespace assay::trace::collectives
