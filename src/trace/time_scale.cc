#include "trace/time_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/trace.h"

namespace assay::trace {
namespace {

constexpr double kNanosecondsPerMicrosecond = 1000;

}  // namespace

TimeScale::TimeScale(const model::Trace& trace, Compat compat) {
  if (compat == Compat::kNone || trace.gpu_events.empty()) return;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 1;
  for (const model::GpuEvent& event : trace.gpu_events) {
    first = std::min(first, event.start_ns);
    last = std::max(last, event.start_ns + event.duration_ns);
  }
  // Spacing of doubles at the earliest time, where they are densest; never so fine that the
  // latest time would not fit an integer.
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
