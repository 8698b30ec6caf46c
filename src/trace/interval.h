// Sets of time intervals on one clock. Times are ticks: see TimeScale.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::trace {

struct Interval {
  std::int64_t start = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - start; }
};

// Sorted, disjoint, non-touching intervals that cover the same time. Empty ones vanish.
std::vector<Interval> merged(std::vector<Interval> intervals);

// Both arguments must be merged; so is the result.
std::vector<Interval> difference(std::span<const Interval> from, std::span<const Interval> removed);
std::vector<Interval> intersection(std::span<const Interval> a, std::span<const Interval> b);

// Total length of merged intervals.
std::int64_t total_length(std::span<const Interval> merged_intervals);

// Length of the union of any intervals.
std::int64_t covered_length(std::vector<Interval> intervals);

}  // namespace assay::trace
