#include "trace/path/lateness.h"

#include <algorithm>

namespace assay::trace::path {
namespace {

// Adds the last `length_ns` before `end_ns` that are in no interval.
void add_before(std::int64_t end_ns, std::int64_t length_ns, std::vector<Interval>& intervals) {
  std::vector<Interval> later;
  while (length_ns > 0) {
    if (!intervals.empty() && intervals.back().end >= end_ns) {
      end_ns = std::min(end_ns, intervals.back().start);
      later.push_back(intervals.back());
      intervals.pop_back();
      continue;
    }
    const std::int64_t free_from_ns = intervals.empty() ? end_ns - length_ns : intervals.back().end;
    const std::int64_t start_ns = std::max(free_from_ns, end_ns - length_ns);
    later.push_back({start_ns, end_ns});
    length_ns -= end_ns - start_ns;
    end_ns = start_ns;
  }
  intervals.insert(intervals.end(), later.rbegin(), later.rend());
}

}  // namespace

std::vector<Interval> lateness_of(const std::vector<WaitForLast>& waits) {
  std::vector<Interval> intervals;
  std::vector<std::int64_t> own_ns;  // by wait
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const WaitForLast& wait = waits[i];
    std::int64_t since_together_ns = 0;
    for (std::size_t j = i; j > 0 && waits[j - 1].until_ns > wait.together_ns; --j)
      since_together_ns += own_ns[j - 1];
    const std::int64_t told_ns =
        std::clamp<std::int64_t>(wait.left_earlier_ns, 0, since_together_ns);
    own_ns.push_back(std::max<std::int64_t>(0, wait.until_ns - wait.from_ns - told_ns));
    add_before(wait.until_ns, own_ns.back(), intervals);
  }
  return intervals;
}

}  // namespace assay::trace::path
