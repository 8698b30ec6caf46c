#include "trace/collectives/align.h"

#include <cmath>

namespace assay::trace::collectives {
namespace {

bool overlap(const Span& a, const Span& b) {
  return a.start <= b.end && b.start <= a.end;
}

double distance(const Span& a, const Span& b) {
  return std::fabs(a.end - b.end);
}

}  // namespace

std::vector<std::uint32_t> align_by_ends(std::span<const Span> events,
                                         std::span<const Span> reference) {
  std::vector<std::uint32_t> partners(events.size(), kAbsent);
  std::size_t e = 0;
  std::size_t r = 0;
  while (e < events.size() && r < reference.size()) {
    const double here = distance(events[e], reference[r]);
    const bool can_skip_event = e + 1 < events.size();
    const bool can_skip_reference = r + 1 < reference.size();
    if (!overlap(events[e], reference[r])) {
      ++(events[e].end < reference[r].end ? e : r);
    } else if (can_skip_reference && distance(events[e], reference[r + 1]) < here) {
      ++r;
    } else if (can_skip_event && distance(events[e + 1], reference[r]) < here) {
      ++e;
    } else {
      partners[e++] = static_cast<std::uint32_t>(r++);
    }
  }
  return partners;
}

}  // namespace assay::trace::collectives
