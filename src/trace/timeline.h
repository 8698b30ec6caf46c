// How the GPU spent its time: computing, communicating alone, copying alone, idle.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/analysis.h"

namespace assay::trace {

// The rows of the public tool's gpu_timeline in its order, in ticks.
struct Timeline {
  std::int64_t computation = 0;     // length of the union of computation
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

// The merged intervals of the work that counts, by kind.
struct BusyIntervals {
  std::vector<Interval> computation;
  std::vector<Interval> communication;
  std::vector<Interval> memcpy;
  std::vector<Interval> all;
};

BusyIntervals busy_intervals(const RankAnalysis& rank);

// The same of the work that `belongs` accepts, by its position in Trace::gpu_events.
BusyIntervals busy_intervals(const RankAnalysis& rank,
                             const std::function<bool(std::size_t)>& belongs);

// Returns the timeline from the first to the last of these intervals.
Timeline timeline(const BusyIntervals& busy);

// Returns the timeline of the part inside `window`.
Timeline timeline(const BusyIntervals& busy, const Interval& window);

}  // namespace assay::trace
