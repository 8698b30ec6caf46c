#include "trace/path/critical_path.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "trace/path/lateness.h"
#include "trace/path/places.h"

namespace assay::trace::path {
namespace {

// Works follow each other within this on a busy GPU. After a longer pause without a reason, the
// path goes on with whatever the rank finished last.
constexpr std::int64_t kShortPauseNs = 50'000;
// A kernel that fills the GPU lets the next one begin while its last blocks run.
constexpr std::int64_t kLastBlocksNs = 20'000;

// Of a work that joins none.
Part part_of(GpuWork kind) {
  switch (kind) {
    case GpuWork::kCommunication:
      return Part::kUnmatched;
    case GpuWork::kMemcpy:
      return Part::kCopy;
    case GpuWork::kComputation:
      return Part::kComputation;
  }
  return Part::kIdle;
}

// For each work, the works of its rank by end, to find what had ended last.
class ByEnd {
 public:
  explicit ByEnd(const Execution& execution) : x_(execution), order_(execution.works.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    for (const Rank& rank : x_.ranks)
      std::sort(order_.begin() + rank.first, order_.begin() + rank.last,
                [&](WorkId a, WorkId b) { return x_.works[a].end_ns < x_.works[b].end_ns; });
  }

  // Returns the work of the rank that ended last, at this time or before; kNone when there is none.
  [[nodiscard]] WorkId last_ended(std::uint16_t rank, std::int64_t time_ns) const {
    const auto later = after(rank, time_ns);
    return later == order_.begin() + x_.ranks[rank].first ? kNone : *(later - 1);
  }

  // Returns the work in which the rank of `id` was in a join before it; kNone when there is none.
  [[nodiscard]] WorkId joined_before(WorkId id) const {
    const Work& work = x_.works[id];
    const auto begin = order_.begin() + x_.ranks[work.rank].first;
    auto at = after(work.rank, work.start_ns);
    while (at != begin)
      if (x_.works[*--at].join != kNone) return *at;
    return kNone;
  }

  // Returns the computation that kept the GPU from starting `late`: it ran before and ended about
  // then. kNone when there is none.
  [[nodiscard]] WorkId in_the_way(WorkId late) const {
    const Work& work = x_.works[late];
    const auto begin = order_.begin() + x_.ranks[work.rank].first;
    auto at = after(work.rank, work.start_ns + kLastBlocksNs);
    while (at != begin) {
      const Work& other = x_.works[*--at];
      if (other.end_ns < work.start_ns - kLastBlocksNs) break;
      const bool ran_before = other.start_ns < work.start_ns - kLastBlocksNs;
      if (other.kind == GpuWork::kComputation && ran_before) return *at;
    }
    return kNone;
  }

 private:
  // The first work of the rank that ended after this time.
  [[nodiscard]] std::vector<WorkId>::const_iterator after(std::uint16_t rank,
                                                          std::int64_t time_ns) const {
    return std::upper_bound(order_.begin() + x_.ranks[rank].first,
                            order_.begin() + x_.ranks[rank].last, time_ns,
                            [&](std::int64_t time, WorkId w) { return time < x_.works[w].end_ns; });
  }

  const Execution& x_;
  std::vector<WorkId> order_;
};

// Marks what the path did in these intervals, which are in order of time, as waiting for a
// straggler.
std::vector<Segment> with_stragglers(const std::vector<Segment>& path,
                                     const std::vector<Interval>& intervals) {
  std::vector<Segment> marked;
  auto interval = intervals.begin();
  for (Segment segment : path) {
    const std::int64_t end_ns = segment.end_ns;
    while (segment.start_ns < end_ns) {
      while (interval != intervals.end() && interval->end <= segment.start_ns)
        ++interval;
      const bool is_left = interval != intervals.end();
      const bool straggles = is_left && interval->start <= segment.start_ns;
      const std::int64_t next_ns = straggles ? interval->end : is_left ? interval->start : end_ns;
      segment.end_ns = std::min(end_ns, next_ns);
      segment.part = straggles ? Part::kStraggler : segment.cause;
      marked.push_back(segment);
      segment.start_ns = segment.end_ns;
    }
  }
  return marked;
}

class Walk {
 public:
  Walk(const Execution& execution, const Waits& waits)
      : x_(execution), waits_(waits), by_end_(execution), seen_(execution.works.size(), false) {}

  std::vector<Segment> path() {
    if (x_.works.empty()) return {};
    WorkId work = last_work();
    time_ns_ = x_.steps.back().end_ns;
    if (x_.works[work].end_ns < time_ns_) emit(Part::kIdle, work, x_.works[work].end_ns);
    while (work != kNone && time_ns_ > x_.steps.front().start_ns) {
      work = through(work);
      if (seen_[work]) break;
      seen_[work] = true;
      const WorkId first = work;
      work = before(work);
      if (work == kNone) wait_for_first(first);
    }
    if (time_ns_ > x_.steps.front().start_ns)
      emit(Part::kIdle, last_seen_, x_.steps.front().start_ns);
    std::reverse(segments_.begin(), segments_.end());
    std::reverse(waits_for_last_.begin(), waits_for_last_.end());
    return with_stragglers(segments_, lateness_of(waits_for_last_));
  }

 private:
  [[nodiscard]] WorkId last_work() const {
    const auto last =
        std::max_element(x_.works.begin(), x_.works.end(),
                         [](const Work& a, const Work& b) { return a.end_ns < b.end_ns; });
    return static_cast<WorkId>(last - x_.works.begin());
  }

  // Adds what `id` did until now. Returns the work on whose start the path goes on: that of the
  // rank which arrived last, or its own where it waited for nobody.
  WorkId through(WorkId id) {
    last_seen_ = id;
    const Work& work = x_.works[id];
    if (work.join == kNone) {
      emit(part_of(work.kind), id, work.start_ns);
      return id;
    }
    const Join& join = x_.joins[work.join];
    emit(join.lacks_ranks ? Part::kUnmatched : Part::kCommunication, id, x_.waited_until_ns(id));
    if (join.sender == id) return id;
    waits_for_last_.push_back(wait_in(join));
    last_seen_ = join.last;
    return join.last;
  }

  [[nodiscard]] WaitForLast wait_in(const Join& join) const {
    const WorkId middle = x_.members_of(join)[(join.size - 1) / 2];
    WorkId before = by_end_.joined_before(join.last);
    const std::int64_t left_ns = end_of(before);
    while (before != kNone && !has_rank(x_.joins[x_.works[before].join], x_.works[middle].rank))
      before = by_end_.joined_before(before);
    return {.from_ns = join.middle_start_ns,
            .until_ns = join.last_start_ns,
            .left_earlier_ns = left_ns - end_of(by_end_.joined_before(middle)),
            .together_ns = end_of(before)};
  }

  // The begin of the first step for kNone.
  [[nodiscard]] std::int64_t end_of(WorkId id) const {
    return id == kNone ? x_.steps.front().start_ns : x_.works[id].end_ns;
  }

  [[nodiscard]] bool has_rank(const Join& join, std::uint16_t rank) const {
    const std::span<const WorkId> members = x_.members_of(join);
    return std::any_of(members.begin(), members.end(),
                       [&](WorkId member) { return x_.works[member].rank == rank; });
  }

  // Adds the pause before `id` and returns the work that ended at its beginning.
  WorkId before(WorkId id) {
    const Work& work = x_.works[id];
    WorkId last = work.before;
    for (const WorkId other : waits_.of(id))
      if (last == kNone || x_.works[other].end_ns > x_.works[last].end_ns) last = other;
    const std::int64_t ready_ns = last == kNone ? kUnknownTime : x_.works[last].end_ns;
    const bool host = work.launched_ns > ready_ns && work.launched_ns <= work.start_ns;
    if (host || ready_ns < work.start_ns - kShortPauseNs) {
      WorkId other = host ? kNone : by_end_.in_the_way(id);
      if (other == kNone) other = by_end_.last_ended(work.rank, work.start_ns);
      if (other != kNone && (last == kNone || x_.works[other].end_ns > ready_ns)) last = other;
    }
    if (last == kNone) return kNone;
    const std::int64_t end_ns = x_.works[last].end_ns;
    const bool waits_for_host = work.launched_ns > end_ns && work.launched_ns <= work.start_ns;
    emit(waits_for_host ? Part::kHost : Part::kIdle, id, end_ns);
    return last;
  }

  // Adds what lies before the first work of its rank, whose start is the time up to here: the first
  // step begins at the mean over ranks. Until the host launched it, it is the host's. What kept it
  // from starting for long after that is not in the trace.
  void wait_for_first(WorkId id) {
    const std::int64_t begin_ns = x_.steps.front().start_ns;
    const Work& work = x_.works[id];
    if (work.launched_ns <= begin_ns || work.launched_ns > work.start_ns) return;
    if (work.start_ns - work.launched_ns > kShortPauseNs) emit(Part::kIdle, id, work.launched_ns);
    emit(Part::kHost, id, begin_ns);
  }

  // Adds segments from `start_ns` up to the last one added, one for each step and reason.
  void emit(Part part, WorkId work, std::int64_t start_ns) {
    while (start_ns < time_ns_) {
      while (x_.steps[step_].start_ns >= time_ns_ && step_ > 0)
        --step_;
      const StepMark& step = x_.steps[step_];
      if (step.start_ns >= time_ns_) break;  // before the first step
      const std::int64_t from = std::max(start_ns, step.start_ns);
      if (step.end_ns > from)
        segments_.push_back({.start_ns = from,
                             .end_ns = std::min(time_ns_, step.end_ns),
                             .work = work,
                             .rank = x_.works[work].rank,
                             .step = static_cast<std::int32_t>(step_),
                             .part = part,
                             .cause = part});
      time_ns_ = from;
    }
  }

  const Execution& x_;
  const Waits& waits_;
  ByEnd by_end_;
  std::vector<bool> seen_;
  std::vector<Segment> segments_;            // the latest first
  std::vector<WaitForLast> waits_for_last_;  // the latest first
  std::size_t step_ = x_.steps.size() - 1;   // of the latest time not yet told
  std::int64_t time_ns_ = 0;                 // the path is told from here on
  WorkId last_seen_ = 0;
};

}  // namespace

std::vector<Segment> critical_path(const Execution& execution, const Waits& waits) {
  return Walk(execution, waits).path();
}

std::vector<Segment> critical_path(const Execution& execution) {
  const Places places = places_of(execution);
  const Placed placed[] = {{&execution, &places}};
  return critical_path(execution, find_waits(placed).front());
}

std::vector<Composition> compositions(const Execution& execution,
                                      const std::vector<Segment>& path) {
  std::vector<Composition> result(execution.steps.size(), Composition{});
  for (const Segment& segment : path)
    result[static_cast<std::size_t>(segment.step)][static_cast<std::size_t>(segment.part)] +=
        segment.length_ns();
  return result;
}

}  // namespace assay::trace::path
