// How the GPU spent its time: computing, communicating alone, copying alone, idle.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "trace/analysis.h"

namespace assay::trace {

// Rows of the public tool's gpu_timeline, in its order.
struct Timeline {
  std::int64_t computation = 0;     // union of computation, ticks; likewise below
  std::int64_t exposed_comm = 0;    // communication while nothing computes
  std::int64_t exposed_memcpy = 0;  // copies while nothing computes or communicates
  std::int64_t busy = 0;
  std::int64_t idle = 0;
  std::int64_t total = 0;
  std::int64_t total_comm = 0;
  std::int64_t total_memcpy = 0;

  [[nodiscard]] std::array<std::int64_t, 8> rows() const {
    return {computation, exposed_comm, exposed_memcpy, busy, idle, total, total_comm, total_memcpy};
  }
};

inline constexpr std::array<std::string_view, 8> kTimelineRows{
    "computation_time", "exposed_comm_time", "exposed_memcpy_time", "busy_time",
    "idle_time",        "total_time",        "total_comm_time",     "total_memcpy_time"};

// The GPU's busy time by kind: merged intervals of the work that counts.
struct BusyIntervals {
  std::vector<Interval> computation;
  std::vector<Interval> communication;
  std::vector<Interval> memcpy;
  std::vector<Interval> all;
};

BusyIntervals busy_intervals(const RankAnalysis& rank);

// Timeline of the part inside `window`; of everything from the first to the last event when
// there is none.
Timeline timeline(const BusyIntervals& busy, const std::optional<Interval>& window);

}  // namespace assay::trace
