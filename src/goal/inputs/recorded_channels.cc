#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "goal/inputs/recording.h"

namespace assay::goal {
namespace {

namespace rec = model::recording;

constexpr std::int64_t kClockEveryNs = 1'000'000'000;
// The clocks drift by far less from one reading to the next.
constexpr std::int64_t kMostDriftNs = 1'000'000;
// A kernel does not start before its launch, but clocks are known to some microseconds.
constexpr std::int64_t kToleranceNs = 100'000;

// CUPTI's kernels are longer by so much, which they take before the first timer and after the last
// one; all of it is taken as before (medians of 4.0 to 5.0 us of AllGather, ReduceScatter and
// AllReduce with 24 channels, H200, NCCL 2.28.9).
constexpr std::int64_t kUntimedNs = 4'500;

// a - b. Times of damaged recordings may be so far apart that it wraps.
std::int64_t difference_ns(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// How long after its start NCCL's thread saw a channel, by clocks that have nothing in common.
std::int64_t lag(const rec::KernelChannel& channel) {
  return difference_ns(channel.event.start_ns, static_cast<std::int64_t>(channel.start_timer));
}

bool are_apart(std::int64_t a, std::int64_t b) {
  const std::int64_t difference = difference_ns(a, b);
  return difference > kMostDriftNs || difference < -kMostDriftNs;
}

// What NCCL reports of one channel of a communicator.
struct Reported {
  std::size_t plan = 0;  // its place in the list of plans
  const rec::KernelChannel* timers = nullptr;
};

using Channel = std::vector<Reported>;

// From the first channel's start to the last one's end.
struct Span {
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  [[nodiscard]] bool is_whole() const { return start != 0 && start < end; }
};

class ChannelTimes {
 public:
  ChannelTimes(const RecordedProcess& process, std::vector<PlanRun>& plans)
      : process_(process), plans_(plans), starts_(plans.size()), spans_(plans.size()) {}

  std::vector<KernelRun> find() {
    place_operations();
    for (const auto& [number, timers] : process_.kernel_channels)
      add(timers);
    for (const auto& [key, channel] : channels_)
      read(key.first, channel);
    for (const auto& [communicator, in_order] : launches()) {
      find_starts(in_order);
      const auto lost = lost_.find(communicator);
      if (lost != lost_.end()) find_between(in_order, lost->second);
    }
    std::vector<KernelRun> kernels;
    kernels.reserve(plans_.size());  // plans point to them
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (spans_[i].is_whole()) tie(plans_[i], spans_[i], kernels);
    }
    return kernels;
  }

 private:
  // Timers that came with kernels that they cannot be of.
  struct Lost {
    std::set<std::uint64_t> starts;
    std::set<std::uint64_t> ends;
  };

  void place_operations() {
    std::unordered_map<std::uint32_t, std::size_t> place_of;
    for (std::size_t i = 0; i < plans_.size(); ++i)
      place_of[plans_[i].number] = i;
    const auto note = [&](std::uint32_t operation, std::uint32_t plan) {
      const auto found = place_of.find(plan);
      if (found != place_of.end()) plan_of_[operation] = found->second;
    };
    for (const auto& [number, coll] : process_.colls)
      note(number, coll.plan);
    for (const auto& [number, p2p] : process_.p2ps)
      note(number, p2p.plan);
  }

  void add(const rec::KernelChannel& timers) {
    const auto plan = plan_of_.find(timers.event.parent);
    if (plan == plan_of_.end()) return;
    channels_[{timers.event.communicator, timers.channel}].push_back({plan->second, &timers});
  }

  // A GPU's exchange with itself runs on channels of which NCCL 2.28 tells nothing, but counts with
  // them: from then on these channels' timers come with other kernels than those that they are of.
  void read(std::uint32_t communicator, const Channel& channel) {
    const bool are_possible = std::all_of(channel.begin(), channel.end(), [&](const Reported& at) {
      const std::int64_t start_ns = process_.realtime_ns(at.timers->start_timer);
      return difference_ns(start_ns, plans_[at.plan].call_ns) >= -kToleranceNs;
    });
    for (const auto& [plan, timers] : channel) {
      if (are_possible) {
        starts_[plan].push_back(timers->start_timer);
        spans_[plan].end = std::max(spans_[plan].end, timers->end_timer);
      } else {
        lost_[communicator].starts.insert(timers->start_timer);
        lost_[communicator].ends.insert(timers->end_timer);
      }
    }
  }

  // The plans of each communicator in the order of their launches, in which their kernels run, one
  // after the other.
  [[nodiscard]] std::map<std::uint32_t, std::vector<std::size_t>> launches() const {
    std::map<std::uint32_t, std::vector<std::size_t>> plans_of;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!plans_[i].in_graph) plans_of[plans_[i].communicator].push_back(i);
    }
    for (auto& [communicator, in_order] : plans_of) {
      std::stable_sort(in_order.begin(), in_order.end(), [&](std::size_t a, std::size_t b) {
        return plans_[a].call_ns < plans_[b].call_ns;
      });
    }
    return plans_of;
  }

  // Timers from before the end of the kernel before are older ones.
  void find_starts(const std::vector<std::size_t>& in_order) {
    std::uint64_t before = 0;
    for (const std::size_t plan : in_order) {
      Span& span = spans_[plan];
      for (const std::uint64_t start : starts_[plan]) {
        if (start >= before && (span.start == 0 || start < span.start)) span.start = start;
      }
      if (span.is_whole()) before = span.end;
    }
  }

  // Where a kernel has no times between two that have, timers between those are its own.
  void find_between(const std::vector<std::size_t>& in_order, const Lost& lost) {
    for (std::size_t i = 1; i + 1 < in_order.size(); ++i) {
      const Span& before = spans_[in_order[i - 1]];
      const Span& after = spans_[in_order[i + 1]];
      if (spans_[in_order[i]].is_whole() || !before.is_whole() || !after.is_whole()) continue;
      const auto start = lost.starts.lower_bound(before.end);
      if (start == lost.starts.end()) continue;
      const auto end = lost.ends.upper_bound(*start);
      if (end != lost.ends.end() && *end <= after.start) spans_[in_order[i]] = {*start, *end};
    }
  }

  void tie(PlanRun& plan, const Span& span, std::vector<KernelRun>& kernels) const {
    const auto* communicator = find_record(process_.communicators, plan.communicator);
    const std::int64_t start_ns = difference_ns(process_.realtime_ns(span.start), kUntimedNs);
    const std::uint64_t end_ns =
        static_cast<std::uint64_t>(start_ns) + (span.end - span.start) + kUntimedNs;
    kernels.push_back({.start_ns = start_ns,
                       .end_ns = static_cast<std::int64_t>(end_ns),
                       .device = communicator == nullptr ? -1 : communicator->record.device});
    plan.kernel = &kernels.back();
  }

  const RecordedProcess& process_;
  std::vector<PlanRun>& plans_;
  std::vector<std::vector<std::uint64_t>> starts_;          // parallel to plans_, of all channels
  std::vector<Span> spans_;                                 // parallel to plans_
  std::unordered_map<std::uint32_t, std::size_t> plan_of_;  // by operation
  std::map<std::uint32_t, Lost> lost_;                      // by communicator
  std::map<std::pair<std::uint32_t, std::uint32_t>, Channel> channels_;
};

}  // namespace

std::vector<rec::Clock> clocks_of(const Records<rec::KernelChannel>& channels) {
  std::map<std::int64_t, const rec::KernelChannel*> soonest;  // by second
  for (const auto& [number, channel] : channels) {
    if (channel.start_timer == 0) continue;
    const rec::KernelChannel*& known = soonest[channel.event.start_ns / kClockEveryNs];
    if (known == nullptr || lag(channel) < lag(*known)) known = &channel;
  }
  std::vector<rec::Clock> clocks;
  std::optional<std::int64_t> before;
  for (const auto& [second, channel] : soonest) {
    if (before && are_apart(lag(*channel), *before)) continue;
    before = lag(*channel);
    rec::Clock clock;
    clock.time_ns = channel->event.start_ns;
    clock.cupti_ns = channel->start_timer;
    clocks.push_back(clock);
  }
  return clocks;
}

std::vector<KernelRun> kernels_of_channels(const RecordedProcess& process,
                                           std::vector<PlanRun>& plans) {
  return ChannelTimes(process, plans).find();
}

}  // namespace assay::goal
