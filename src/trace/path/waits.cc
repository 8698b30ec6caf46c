#include "trace/path/waits.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace assay::trace::path {
namespace {

// A work starts within this after what it waited for; the kernels of NCCL take longest (30 us).
constexpr std::int64_t kLongestStartNs = 50'000;
// Less than this between the ends of two works may be chance.
constexpr std::int64_t kClearlyLaterNs = 5'000;
// The share of its repetitions in which a wait must have held up the work.
constexpr double kShareHeldUp = 0.1;

// A place that may wait for a lane, as one number: what the step and the one before run, the two
// lanes' roles and the place in its lane. 64 mixed bits do not meet by chance.
using Question = std::uint64_t;

std::uint64_t mixed_in(std::uint64_t seed, std::uint64_t value) {
  const std::uint64_t hash = (seed ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

// The last work of the other lane that had ended: by the steps since, then its number.
struct Ended {
  std::int32_t steps_ago = 0;
  std::uint32_t index = 0;

  [[nodiscard]] bool is_before(const Ended& other) const {
    return std::tuple(-steps_ago, index) < std::tuple(-other.steps_ago, other.index);
  }
};

struct Evidence {
  Ended always;       // had ended in every repetition
  bool none = false;  // in one repetition, nothing had
  std::int64_t seen = 0;
  std::int64_t held_up = 0;

  [[nodiscard]] bool is_wait() const {
    return !none && seen > 0 && held_up > 0 &&
           static_cast<double>(held_up) >= kShareHeldUp * static_cast<double>(seen);
  }
};

using Findings = std::unordered_map<Question, Evidence>;

// Visits every work of a rank with every other lane of that rank.
class Sweep {
 public:
  Sweep(const Placed& placed, std::size_t rank) : x_(*placed.execution), places_(*placed.places) {
    rank_ = rank;
    for (std::uint32_t l = 0; l < x_.lanes.size(); ++l)
      if (x_.lanes[l].rank == rank) lanes_.push_back(l);
    ended_.resize(lanes_.size(), 0);
  }

  // Calls visit(work, question, lane, number of its works that have ended) for each.
  template <class Visit>
  void each(const Visit& visit) {
    for (WorkId w = x_.ranks[rank_].first; w < x_.ranks[rank_].last; ++w) {
      for (std::size_t i = 0; i < lanes_.size(); ++i)
        advance(i, x_.works[w].start_ns);
      if (places_.step[w] < 0) continue;
      const std::uint64_t place = place_of(w);
      for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i] != x_.works[w].lane)
          visit(w, mixed_in(place, places_.role[lanes_[i]]), lanes_[i], ended_[i]);
    }
  }

 private:
  void advance(std::size_t i, std::int64_t time_ns) {
    const auto& works = places_.lane_works[lanes_[i]];
    while (ended_[i] < works.size() && x_.works[works[ended_[i]]].end_ns <= time_ns)
      ++ended_[i];
  }

  [[nodiscard]] std::uint64_t place_of(WorkId w) const {
    const auto s = static_cast<std::size_t>(places_.step[w]);
    const auto& classes = places_.step_class[rank_];
    const std::uint64_t step = mixed_in(classes[s], classes[s == 0 ? 0 : s - 1]);
    return mixed_in(mixed_in(step, places_.role[x_.works[w].lane]), places_.index_in_step(x_, w));
  }

  const Execution& x_;
  const Places& places_;
  std::size_t rank_ = 0;
  std::vector<std::uint32_t> lanes_;
  std::vector<std::uint32_t> ended_;
};

void note_ended(
    const Placed& placed, WorkId w, std::uint32_t lane, std::uint32_t ended, Evidence& evidence) {
  const Places& places = *placed.places;
  // What had ended before the first step is not in the trace.
  if (ended == 0 && places.step[w] == 0) return;
  const bool is_first = evidence.seen++ == 0;
  if (ended == 0) return void(evidence.none = true);
  const WorkId last = places.lane_works[lane][ended - 1];
  if (places.step[last] < 0) return void(evidence.none = true);
  const Ended found{.steps_ago = places.step[w] - places.step[last],
                    .index = places.index_in_step(*placed.execution, last)};
  if (is_first || found.is_before(evidence.always)) evidence.always = found;
}

// Returns the work of this lane that had always ended, or kNone.
WorkId always_ended(const Placed& placed, WorkId w, std::uint32_t lane, const Evidence& evidence) {
  if (evidence.none || evidence.seen == 0) return kNone;
  const std::int32_t step = placed.places->step[w] - evidence.always.steps_ago;
  if (step < 0) return kNone;
  const auto works = placed.places->works_of(lane, static_cast<std::size_t>(step));
  return evidence.always.index < works.size() ? works[evidence.always.index] : kNone;
}

// Counts for each work the lane that held it up, if one did.
class HeldUp {
 public:
  HeldUp(const Placed& placed, Findings& findings) : placed_(placed), findings_(findings) {}

  void consider(WorkId w, Question question, std::uint32_t lane) {
    if (w != work_) decide();
    work_ = w;
    Evidence& evidence = findings_.find(question)->second;
    const WorkId other = always_ended(placed_, w, lane, evidence);
    if (other == kNone) return;
    const std::int64_t end_ns = placed_.execution->works[other].end_ns;
    if (latest_ != nullptr && end_ns <= latest_end_ns_) return;
    latest_ = &evidence;
    latest_end_ns_ = end_ns;
  }

  void decide() {
    if (latest_ != nullptr && is_held_up()) ++latest_->held_up;
    latest_ = nullptr;
  }

 private:
  [[nodiscard]] bool is_held_up() const {
    const auto& works = placed_.execution->works;
    const Work& work = works[work_];
    std::int64_t ready_ns = work.launched_ns;
    if (work.before != kNone) ready_ns = std::max(ready_ns, works[work.before].end_ns);
    return work.start_ns - latest_end_ns_ <= kLongestStartNs &&
           (ready_ns == kUnknownTime || latest_end_ns_ - ready_ns >= kClearlyLaterNs);
  }

  const Placed& placed_;
  Findings& findings_;
  WorkId work_ = kNone;
  Evidence* latest_ = nullptr;
  std::int64_t latest_end_ns_ = 0;
};

// A trace that records waits records all of them.
Waits recorded_waits(const Execution& execution) {
  Waits waits;
  auto next = execution.recorded_waits.begin();
  for (WorkId w = 0; w < execution.works.size(); ++w) {
    waits.first.push_back(static_cast<std::uint32_t>(waits.works.size()));
    for (; next != execution.recorded_waits.end() && next->work == w; ++next)
      waits.works.push_back(next->other);
  }
  waits.first.push_back(static_cast<std::uint32_t>(waits.works.size()));
  return waits;
}

Waits waits_of(const Placed& placed, const Findings& findings) {
  Waits waits;

  waits.first.reserve(placed.execution->works.size() + 1);
  WorkId done = 0;
  const auto begin_up_to = [&](WorkId end) {
    for (; done < end; ++done)
      waits.first.push_back(static_cast<std::uint32_t>(waits.works.size()));
  };
  for (std::size_t r = 0; r < placed.execution->ranks.size(); ++r) {
    Sweep(placed, r).each([&](WorkId w, Question question, std::uint32_t lane, std::uint32_t) {
      begin_up_to(w + 1);
      const Evidence& evidence = findings.find(question)->second;
      if (!evidence.is_wait()) return;
      const WorkId other = always_ended(placed, w, lane, evidence);
      if (other != kNone) waits.works.push_back(other);
    });
  }
  begin_up_to(static_cast<WorkId>(placed.execution->works.size()) + 1);
  return waits;
}

}  // namespace

std::vector<Waits> find_waits(std::span<const Placed> executions) {
  Findings findings;
  for (const Placed& placed : executions)
    for (std::size_t r = 0; r < placed.execution->ranks.size(); ++r)
      Sweep(placed, r).each(
          [&](WorkId w, Question question, std::uint32_t lane, std::uint32_t ended) {
            note_ended(placed, w, lane, ended, findings[question]);
          });
  for (const Placed& placed : executions) {
    for (std::size_t r = 0; r < placed.execution->ranks.size(); ++r) {
      HeldUp held_up(placed, findings);
      Sweep(placed, r).each([&](WorkId w, Question question, std::uint32_t lane, std::uint32_t) {
        held_up.consider(w, question, lane);
      });
      held_up.decide();
    }
  }
  std::vector<Waits> result;
  for (const Placed& placed : executions)
    result.push_back(placed.execution->recorded_waits.empty() ? waits_of(placed, findings)
                                                              : recorded_waits(*placed.execution));
  return result;
}

}  // namespace assay::trace::path
