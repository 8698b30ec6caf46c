// How much of the waits that the critical path passes is lateness of its own: a rank that was late
// in one collective is late in the next one, too, with other ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/interval.h"

namespace assay::trace::path {

// Half of the ranks of a collective wait from here until the last one arrives.
struct WaitForLast {
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;
  // How much earlier the middle rank left its collective before this one than the last rank did.
  std::int64_t left_earlier_ns = 0;
  // When both last left one together.
  std::int64_t together_ns = 0;
};

// Returns what the path did while it made others wait, in order of time, none twice. By how much
// the last rank had left its collective before later than others is lateness that was told there,
// as far as the path has any since both left one together; the rest is the time before its arrival.
// `waits` are in order of their ends.
std::vector<Interval> lateness_of(const std::vector<WaitForLast>& waits);

}  // namespace assay::trace::path
