#include "trace/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/trace.h"

namespace assay::trace {
namespace {

constexpr double kNanosecondsPerMicrosecond = 1000;

}  // namespace

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.start; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (kept > 0 && next.start <= intervals[kept - 1].end) {
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, next.end);
    } else {
      intervals[kept++] = next;
    }
  }
  intervals.resize(kept);
  return intervals;
}

std::vector<Interval> difference(std::span<const Interval> from,
                                 std::span<const Interval> removed) {
  std::vector<Interval> rest;
  if (from.empty()) return rest;
  // One step of many is a small part of what is removed, so what lies before it is not walked.
  const auto first = std::partition_point(removed.begin(), removed.end(), [&](const Interval& i) {
    return i.end <= from.front().start;
  });
  auto r = static_cast<std::size_t>(first - removed.begin());
  for (Interval piece : from) {
    while (r < removed.size() && removed[r].end <= piece.start)
      ++r;
    for (std::size_t i = r; i < removed.size() && removed[i].start < piece.end; ++i) {
      if (removed[i].start > piece.start) rest.push_back({piece.start, removed[i].start});
      piece.start = std::max(piece.start, removed[i].end);
    }
    if (piece.start < piece.end) rest.push_back(piece);
  }
  return rest;
}

std::vector<Interval> intersection(std::span<const Interval> a, std::span<const Interval> b) {
  std::vector<Interval> common;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const Interval overlap{std::max(a[i].start, b[j].start), std::min(a[i].end, b[j].end)};
    if (overlap.start < overlap.end) common.push_back(overlap);
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return common;
}

std::int64_t total_length(std::span<const Interval> merged_intervals) {
  return std::accumulate(merged_intervals.begin(), merged_intervals.end(), std::int64_t{0},
                         [](std::int64_t total, const Interval& i) { return total + i.length(); });
}

std::int64_t covered_length(std::vector<Interval> intervals) {
  return total_length(merged(std::move(intervals)));
}

TimeScale::TimeScale(const model::Trace& trace, Compat compat) {
  if (compat == Compat::kNone || trace.gpu_events.empty()) return;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 1;
  for (const model::GpuEvent& event : trace.gpu_events) {
    first = std::min(first, event.start_ns);
    last = std::max(last, event.start_ns + event.duration_ns);
  }
  // The spacing of doubles is smallest at the earliest time. It must not become so fine that the
  // latest time no longer fits an integer.
  const double first_us = std::max(1.0, static_cast<double>(first) / kNanosecondsPerMicrosecond);
  const double last_us = static_cast<double>(last) / kNanosecondsPerMicrosecond;
  const int spacing = std::ilogb(first_us) - 52;
  const int room = 61 - std::ilogb(last_us);
  ticks_per_us_ = std::ldexp(1.0, std::min(-spacing, room));
  rounds_as_double_ = true;
}

Interval TimeScale::interval(std::int64_t start_ns, std::int64_t duration_ns) const {
  if (!rounds_as_double_) return {start_ns, start_ns + duration_ns};
  const double start_us = static_cast<double>(start_ns) / kNanosecondsPerMicrosecond;
  const double end_us = start_us + static_cast<double>(duration_ns) / kNanosecondsPerMicrosecond;
  return {std::llround(start_us * ticks_per_us_), std::llround(end_us * ticks_per_us_)};
}

}  // namespace assay::trace
