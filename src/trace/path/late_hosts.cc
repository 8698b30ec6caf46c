#include "trace/path/late_hosts.h"

#include <algorithm>

#include "trace/interval.h"

namespace assay::trace::path {
namespace {

// When a rank waited for its host, as the path tells it: from the end of its last work to a start
// for which there was no launch at that end. It does not wait while it computes on another lane.
class HostPauses {
 public:
  HostPauses(const Execution& execution, const Rank& rank) {
    std::vector<std::int64_t> ends_ns;
    for (WorkId id = rank.first; id < rank.last; ++id)
      ends_ns.push_back(execution.works[id].end_ns);
    std::sort(ends_ns.begin(), ends_ns.end());
    std::vector<Interval> pauses;
    std::int64_t computes_until_ns = kUnknownTime;
    for (WorkId id = rank.first; id < rank.last; ++id) {
      const Work& work = execution.works[id];
      const auto ended = std::upper_bound(ends_ns.begin(), ends_ns.end(), work.start_ns);
      const bool is_free = ended != ends_ns.begin() && computes_until_ns <= work.start_ns;
      if (is_free && work.launched_ns > *(ended - 1) && work.launched_ns <= work.start_ns)
        pauses.push_back({*(ended - 1), work.start_ns});
      if (work.kind != GpuWork::kCommunication)
        computes_until_ns = std::max(computes_until_ns, work.end_ns);
    }
    pauses_ = merged(std::move(pauses));
    for (const Interval& pause : pauses_)
      before_ns_.push_back(before_ns_.back() + pause.length());
  }

  [[nodiscard]] std::int64_t within(std::int64_t start_ns, std::int64_t end_ns) const {
    return until(end_ns) - until(start_ns);
  }

 private:
  [[nodiscard]] std::int64_t until(std::int64_t time_ns) const {
    const auto next =
        std::partition_point(pauses_.begin(), pauses_.end(),
                             [time_ns](const Interval& pause) { return pause.end <= time_ns; });
    const std::int64_t ended_ns = before_ns_[static_cast<std::size_t>(next - pauses_.begin())];
    if (next == pauses_.end()) return ended_ns;
    return ended_ns + std::max<std::int64_t>(0, time_ns - next->start);
  }

  std::vector<Interval> pauses_;
  std::vector<std::int64_t> before_ns_ = {0};  // of the pauses before each, and of all
};

// The part of the path between two collectives, on the rank that comes last to the second one.
struct Stretch {
  std::int64_t start_ns = 0;
  std::int64_t waited_ns = 0;
  std::int64_t host_before_ns = 0;     // while nobody waited
  std::int64_t host_meanwhile_ns = 0;  // while others waited
};

class LateHosts {
 public:
  explicit LateHosts(const Execution& execution) : late_(execution.ranks.size()) {
    for (const Rank& rank : execution.ranks)
      pauses_.emplace_back(execution, rank);
    for (std::size_t rank = 0; rank < late_.size(); ++rank)
      late_[rank].rank = static_cast<std::uint16_t>(rank);
  }

  void add(const Stretch& stretch, const Segment& last) {
    if (stretch.waited_ns == 0) return;
    const std::int64_t own_ns = stretch.host_before_ns + stretch.host_meanwhile_ns;
    const std::int64_t host_ns = std::min(
        stretch.waited_ns, own_ns - std::min(own_ns, middle_ns(stretch.start_ns, last.end_ns)));
    LateHost& late = late_[last.rank];
    late.waited_ns += stretch.waited_ns;
    late.host_ns += host_ns;
    late.told_too_ns += std::max<std::int64_t>(0, host_ns - stretch.host_meanwhile_ns);
  }

  std::vector<LateHost> latest_first() && {
    std::erase_if(late_, [](const LateHost& late) { return late.host_ns == 0; });
    std::stable_sort(late_.begin(), late_.end(),
                     [](const LateHost& a, const LateHost& b) { return a.host_ns > b.host_ns; });
    return std::move(late_);
  }

 private:
  // Of an even number of ranks the lower one: of two, the faster one is what is usual.
  [[nodiscard]] std::int64_t middle_ns(std::int64_t start_ns, std::int64_t end_ns) const {
    std::vector<std::int64_t> of_ranks;
    for (const HostPauses& pauses : pauses_)
      of_ranks.push_back(pauses.within(start_ns, end_ns));
    const auto middle = of_ranks.begin() + static_cast<std::ptrdiff_t>((of_ranks.size() - 1) / 2);
    std::nth_element(of_ranks.begin(), middle, of_ranks.end());
    return *middle;
  }

  std::vector<HostPauses> pauses_;
  std::vector<LateHost> late_;
};

// The path begins when the ranks do in the mean, a late one's host before that.
std::int64_t host_before(const Execution& execution, const std::vector<Segment>& path) {
  if (path.empty() || path.front().cause != Part::kHost) return 0;
  std::int64_t earliest_ns = path.front().start_ns;
  for (const Rank& rank : execution.ranks)
    if (rank.first < rank.last)
      earliest_ns = std::min(earliest_ns, execution.works[rank.first].start_ns);
  return path.front().start_ns - earliest_ns;
}

// A collective that lacks ranks is unmatched communication, and yet those present wait in it for
// the last of them.
bool is_in_join(const Execution& execution, const Segment& segment) {
  return segment.cause == Part::kCommunication ||
         (segment.cause == Part::kUnmatched && execution.works[segment.work].join != kNone);
}

}  // namespace

std::vector<LateHost> late_hosts(const Execution& execution,
                                 const std::vector<Segment>& path,
                                 const std::vector<bool>& counts) {
  LateHosts late(execution);
  Stretch stretch{.host_before_ns = host_before(execution, path)};
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Segment& segment = path[i];
    if (is_in_join(execution, segment)) {
      stretch = {.start_ns = segment.end_ns};
      continue;
    }
    const bool straggles = segment.part == Part::kStraggler;
    if (straggles) stretch.waited_ns += segment.length_ns();
    if (segment.cause == Part::kHost)
      (straggles ? stretch.host_meanwhile_ns : stretch.host_before_ns) += segment.length_ns();
    const bool is_last = i + 1 < path.size() && is_in_join(execution, path[i + 1]);
    if (is_last && counts[static_cast<std::size_t>(segment.step)]) late.add(stretch, segment);
  }
  return std::move(late).latest_first();
}

}  // namespace assay::trace::path
