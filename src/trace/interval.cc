#include "trace/interval.h"

#include <algorithm>
#include <numeric>

namespace assay::trace {

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
  std::size_t r = 0;
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

}  // namespace assay::trace
