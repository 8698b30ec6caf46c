#include "goal/stream_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace assay::goal {
namespace {

std::vector<Launch> by_start(std::vector<Launch> launches) {
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
  return launches;
}

// True when on every GPU no launch begins before those of other streams have ended.
bool never_overlap(const Resolved& resolved) {
  return std::all_of(resolved.gpus.begin(), resolved.gpus.end(), [](const GpuCalls& gpu) {
    const std::vector<Launch> launches = by_start(gpu.launches);
    for (std::size_t i = 1; i < launches.size(); ++i) {
      if (launches[i].start_ns < launches[i - 1].end_ns) return false;
    }
    return true;
  });
}

struct Place {
  std::uint32_t gpu = 0;
  std::uint32_t launch = 0;  // index into the GPU's timeline
};

// Launches that share exchanges, taken for one: each ends only when the others have begun.
struct Meeting {
  std::int64_t since_start_ns = 0;  // of its first launch, from its GPU's first
  std::vector<Place> launches;
  std::vector<std::uint32_t> stream_next;  // meetings that wait for it in a stream
  std::vector<std::uint32_t> order_next;   // and by the order among streams alone
  std::uint32_t stream_before = 0;
  std::uint32_t order_before = 0;
};

// Joins what shares an exchange.
class Groups {
 public:
  std::uint32_t add() {
    parent_.push_back(static_cast<std::uint32_t>(parent_.size()));
    return parent_.back();
  }

  std::uint32_t root(std::uint32_t of) {
    while (parent_[of] != of) {
      parent_[of] = parent_[parent_[of]];
      of = parent_[of];
    }
    return of;
  }

  void join(std::uint32_t a, std::uint32_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

// Runs the schedule without times. Where nothing can go on, it frees a meeting that only the order
// among streams holds back.
class Rehearsal {
 public:
  Rehearsal(const Resolved& resolved, const StreamPlan& plan) : merged_(plan.merged) {
    std::vector<std::uint32_t> met(resolved.exchanges.size(), kNone);
    for (std::uint32_t gpu = 0; gpu < resolved.gpus.size(); ++gpu) {
      model::Warnings unused;
      timelines_.push_back(make_timeline(resolved, gpu, plan, 0, unused));
      auto& numbers = number_.emplace_back();
      for (const TimedLaunch& timed : timelines_[gpu].launches) {
        numbers.push_back(groups_.add());
        for (std::uint32_t i = 0; i < timed.launch.num_calls; ++i) {
          const Call& call = resolved.gpus[gpu].calls[timed.launch.first_call + i];
          std::uint32_t& first = met[call.exchange];
          if (first == kNone) first = numbers.back();
          groups_.join(numbers.back(), first);
        }
      }
      meetings_.resize(numbers.empty() ? meetings_.size() : numbers.back() + 1);
    }
    for (std::uint32_t gpu = 0; gpu < timelines_.size(); ++gpu) {
      for (std::uint32_t i = 0; i < timelines_[gpu].launches.size(); ++i)
        place({gpu, i});
    }
  }

  // False when a circle of streams is left, which no order among them can undo.
  bool run() {
    for (std::uint32_t i = 0; i < meetings_.size(); ++i)
      offer(i);
    while (!ready_.empty() || free_one()) {
      const Meeting& done = meetings_[ready_.back()];
      ready_.pop_back();
      ++num_done_;
      for (const std::uint32_t next : done.stream_next) {
        --meetings_[next].stream_before;
        offer(next);
      }
      for (const std::uint32_t next : done.order_next) {
        // 0: freed already.
        if (meetings_[next].order_before == 0) continue;
        --meetings_[next].order_before;
        offer(next);
      }
    }
    return num_done_ == meetings_.size();
  }

  [[nodiscard]] const std::vector<Place>& freed() const { return freed_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void place(Place at) {
    const std::vector<TimedLaunch>& launches = timelines_[at.gpu].launches;
    const TimedLaunch& timed = launches[at.launch];
    const std::uint32_t number = groups_.root(number_[at.gpu][at.launch]);
    Meeting& meeting = meetings_[number];
    const std::int64_t since_ns = timed.launch.start_ns - launches[0].launch.start_ns;
    if (meeting.launches.empty() || since_ns < meeting.since_start_ns) {
      meeting.since_start_ns = since_ns;
    }
    meeting.launches.push_back(at);
    for (const std::uint32_t after : timed.after) {
      const std::uint32_t before = groups_.root(number_[at.gpu][after]);
      if (before == number) continue;
      const bool stream = merged_ || launches[after].launch.stream == timed.launch.stream;
      (stream ? meetings_[before].stream_next : meetings_[before].order_next).push_back(number);
      ++(stream ? meeting.stream_before : meeting.order_before);
    }
  }

  // Meetings without launches are members of others: done from the beginning.
  void offer(std::uint32_t number) {
    const Meeting& meeting = meetings_[number];
    if (meeting.stream_before > 0) return;
    const auto key = std::make_pair(meeting.since_start_ns, number);
    if (meeting.order_before > 0) {
      held_.insert(key);
    } else {
      held_.erase(key);
      ready_.push_back(number);
    }
  }

  bool free_one() {
    if (held_.empty()) return false;
    const std::uint32_t number = held_.begin()->second;
    Meeting& meeting = meetings_[number];
    freed_.insert(freed_.end(), meeting.launches.begin(), meeting.launches.end());
    meeting.order_before = 0;
    offer(number);
    return true;
  }

  bool merged_;
  std::vector<GpuTimeline> timelines_;              // by GPU
  std::vector<std::vector<std::uint32_t>> number_;  // by GPU, launch
  Groups groups_;
  std::vector<Meeting> meetings_;  // by number; those of joined launches at their root
  std::vector<std::uint32_t> ready_;
  std::set<std::pair<std::int64_t, std::uint32_t>> held_;  // by the order among streams alone
  std::vector<Place> freed_;
  std::size_t num_done_ = 0;
};

}  // namespace

StreamPlan plan_streams(const Resolved& resolved,
                        const StreamOptions& options,
                        model::Warnings& warnings) {
  StreamPlan plan{.merged = false, .order = options.order};
  if (options.streams == Streams::kMergedWhenDisjoint && never_overlap(resolved)) {
    plan.merged = true;
    if (Rehearsal(resolved, plan).run()) return plan;
    plan.merged = false;
  }
  if (options.order == StreamOrder::kIndependent) return plan;
  Rehearsal rehearsal(resolved, plan);
  rehearsal.run();
  for (const auto& [gpu, launch] : rehearsal.freed()) {
    plan.unordered.resize(resolved.gpus.size());
    plan.unordered[gpu].resize(resolved.gpus[gpu].launches.size());
    plan.unordered[gpu][launch] = true;
    warnings.add("streams of several GPUs that wait for each other in a circle",
                 "an operation follows its own stream only", fmt::format("rank {}", gpu));
  }
  return plan;
}

}  // namespace assay::goal
