#include "trace/path/apart_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "trace/lost_ranks.h"

namespace assay::trace::path {
namespace {

struct RankSpan {
  int rank = 0;
  Interval time;  // of all its steps
};

std::vector<RankSpan> spans_by_start(const Execution& execution) {
  std::vector<RankSpan> spans;
  for (const Rank& rank : execution.ranks)
    if (!rank.step_start.empty())
      spans.push_back({rank.number, {rank.step_start.front(), rank.step_end.back()}});
  std::sort(spans.begin(), spans.end(),
            [](const RankSpan& a, const RankSpan& b) { return a.time.start < b.time.start; });
  return spans;
}

core::Error apart(const std::vector<RankSpan>& spans, std::size_t later, std::int64_t gap_ns) {
  std::vector<int> before;
  std::vector<int> after;
  for (std::size_t i = 0; i < spans.size(); ++i)
    (i < later ? before : after).push_back(spans[i].rank);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  constexpr double kNsPerSecond = 1e9;
  return core::Error{fmt::format(
      "the steps of {} had ended {:.3g} s before those of {} began: are traces of another "
      "run among them, or clocks apart that no collective links?",
      ranks_in_words(before), static_cast<double>(gap_ns) / kNsPerSecond, ranks_in_words(after))};
}

}  // namespace

core::Status check_overlap(const Execution& execution) {
  const std::vector<RankSpan> spans = spans_by_start(execution);
  // The last GPU of a pipeline may begin when the first has ended, but no longer after that.
  std::int64_t longest_ns = 0;
  for (const RankSpan& span : spans)
    longest_ns = std::max(longest_ns, span.time.length());
  std::int64_t end_ns = spans.empty() ? 0 : spans.front().time.end;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    const std::int64_t gap_ns = spans[i].time.start - end_ns;
    if (gap_ns > longest_ns) return apart(spans, i, gap_ns);
    end_ns = std::max(end_ns, spans[i].time.end);
  }
  return {};
}

}  // namespace assay::trace::path
