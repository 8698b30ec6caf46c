// Sets of time intervals on one clock, in ticks, and the scale of a tick.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/options.h"

namespace assay::model {
struct Trace;
}

namespace assay::trace {

struct Interval {
  std::int64_t start = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - start; }

  bool operator==(const Interval&) const = default;
};

// Returns sorted, disjoint intervals that do not touch and cover the same time. Empty intervals
// vanish.
std::vector<Interval> merged(std::vector<Interval> intervals);

// Both arguments must be merged; the result is merged too.
std::vector<Interval> difference(std::span<const Interval> from, std::span<const Interval> removed);
std::vector<Interval> intersection(std::span<const Interval> a, std::span<const Interval> b);

// Returns the total length of merged intervals.
std::int64_t total_length(std::span<const Interval> merged_intervals);

// Returns the length of the union of any intervals.
std::int64_t covered_length(std::vector<Interval> intervals);

// Turns recorded nanoseconds into ticks. A tick is a nanosecond; in compat mode it is the spacing
// of the doubles in which the public tool holds absolute microseconds, so that its rounding is
// reproduced exactly.
class TimeScale {
 public:
  TimeScale() = default;
  TimeScale(const model::Trace& trace, Compat compat);

  [[nodiscard]] Interval interval(std::int64_t start_ns, std::int64_t duration_ns) const;

  [[nodiscard]] double microseconds(std::int64_t ticks) const {
    return static_cast<double>(ticks) / ticks_per_us_;
  }

  [[nodiscard]] double milliseconds(std::int64_t ticks) const {
    return static_cast<double>(ticks) / (ticks_per_us_ * 1000);
  }

 private:
  double ticks_per_us_ = 1000;
  bool rounds_as_double_ = false;
};

}  // namespace assay::trace
