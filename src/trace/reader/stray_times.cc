#include "trace/reader/stray_times.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace assay::trace {
namespace {

// No profile lasts a day.
constexpr std::int64_t kLongestProfileNs = 24LL * 3600 * 1'000'000'000;

template <class Visit>
void for_each_list(model::Trace& trace, const Visit& visit) {
  visit(trace.cpu_ops);
  visit(trace.runtime_calls);
  visit(trace.gpu_events);
  visit(trace.annotations);
}

bool is_plausible(model::Trace& trace) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for_each_list(trace, [&](const auto& records) {
    for (const auto& record : records) {
      first = std::min(first, record.start_ns);
      last = std::max(last, record.start_ns);
    }
  });
  return last < first || last - first <= kLongestProfileNs;
}

std::int64_t median_start_ns(model::Trace& trace) {
  std::vector<std::int64_t> starts;
  for_each_list(trace, [&](const auto& records) {
    for (const auto& record : records)
      starts.push_back(record.start_ns);
  });
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  return *middle;
}

}  // namespace

void drop_stray_times(model::Trace& trace) {
  if (is_plausible(trace)) return;
  const std::int64_t middle = median_start_ns(trace);
  for_each_list(trace, [&](auto& records) {
    std::erase_if(records, [&](const auto& record) {
      const bool near = record.start_ns >= middle - kLongestProfileNs &&
                        record.start_ns <= middle + kLongestProfileNs;
      if (near) return false;
      trace.warnings.add("start time (ts) more than a day from the others", "event left out",
                         trace.text(record.name));
      return true;
    });
  });
}

}  // namespace assay::trace
