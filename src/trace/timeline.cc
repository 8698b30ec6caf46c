#include "trace/timeline.h"

#include <algorithm>
#include <span>
#include <utility>

namespace assay::trace {
namespace {

// A trace may have a thousand steps, so that what lies before a window is skipped, not walked.
std::vector<Interval> part_inside(std::span<const Interval> merged, const Interval& window) {
  const auto first =
      std::partition_point(merged.begin(), merged.end(),
                           [&](const Interval& interval) { return interval.end <= window.start; });
  return intersection(std::span(first, merged.end()), std::span(&window, 1));
}

BusyIntervals clipped(const BusyIntervals& busy, const Interval& window) {
  return {part_inside(busy.computation, window), part_inside(busy.communication, window),
          part_inside(busy.memcpy, window), part_inside(busy.all, window)};
}

Timeline measured(const BusyIntervals& busy, std::int64_t total) {
  Timeline result;
  result.computation = total_length(busy.computation);
  result.exposed_comm = total_length(difference(busy.communication, busy.computation));
  result.exposed_memcpy =
      total_length(difference(difference(busy.memcpy, busy.computation), busy.communication));
  result.busy = total_length(busy.all);
  result.idle = total - result.busy;
  result.total = total;
  result.total_comm = total_length(busy.communication);
  result.total_memcpy = total_length(busy.memcpy);
  return result;
}

}  // namespace

BusyIntervals busy_intervals(const RankAnalysis& rank) {
  return busy_intervals(rank, [](std::size_t) { return true; });
}

BusyIntervals busy_intervals(const RankAnalysis& rank,
                             const std::function<bool(std::size_t)>& belongs) {
  BusyIntervals busy;
  for (std::size_t i = 0; i < rank.gpu_intervals.size(); ++i) {
    if (!rank.counted[i] || !belongs(i)) continue;
    const Interval& interval = rank.gpu_intervals[i];
    busy.all.push_back(interval);
    switch (rank.gpu_work[i]) {
      case GpuWork::kComputation:
        busy.computation.push_back(interval);
        break;
      case GpuWork::kCommunication:
        busy.communication.push_back(interval);
        break;
      case GpuWork::kMemcpy:
        busy.memcpy.push_back(interval);
        break;
    }
  }
  return {merged(std::move(busy.computation)), merged(std::move(busy.communication)),
          merged(std::move(busy.memcpy)), merged(std::move(busy.all))};
}

Timeline timeline(const BusyIntervals& busy) {
  if (busy.all.empty()) return {};
  return measured(busy, busy.all.back().end - busy.all.front().start);
}

Timeline timeline(const BusyIntervals& busy, const Interval& window) {
  return measured(clipped(busy, window), window.length());
}

}  // namespace assay::trace
