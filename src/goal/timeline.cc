#include "goal/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace assay::goal {
namespace {

// The CPUs of a stream: of channels, then of the channels of receives, then one for messages.
struct Cpus {
  unsigned channels = 1;
  unsigned receives = 0;
  unsigned first = 0;
};

std::vector<Launch> by_start(std::vector<Launch> launches) {
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
  return launches;
}

std::vector<Launch> by_operation(std::vector<Launch> launches) {
  std::sort(launches.begin(), launches.end(),
            [](const Launch& a, const Launch& b) { return a.first_operation < b.first_operation; });
  return launches;
}

class TimelineMaker {
 public:
  TimelineMaker(const Resolved& resolved,
                std::uint32_t gpu,
                const StreamPlan& plan,
                std::int64_t start_ns,
                model::Warnings& warnings)
      : resolved_(resolved), gpu_(gpu), plan_(plan), start_ns_(start_ns), warnings_(warnings) {}

  GpuTimeline run() {
    place_streams();
    if (job_gpu().states_waits) {
      launch_of_.assign(job_gpu().operations.size(), kNoLaunch);
      for (const Launch& launch : by_operation(calls().launches))
        add_stated(launch);
    } else {
      for (const Launch& launch : by_start(calls().launches))
        add(launch);
    }
    std::int64_t end_ns = start_ns_;
    for (const auto& [stream, last] : last_of_stream_) {
      made_.last.push_back(last);
      end_ns = std::max(end_ns, made_.launches[last].launch.end_ns);
    }
    const std::int64_t window_end_ns = job_gpu().window_end_ns;
    if (window_end_ns > end_ns) made_.tail_ns = static_cast<std::uint64_t>(window_end_ns - end_ns);
    return std::move(made_);
  }

 private:
  static constexpr std::uint32_t kNoLaunch = 0xFFFFFFFF;

  [[nodiscard]] const GpuCalls& calls() const { return resolved_.gpus[gpu_]; }

  [[nodiscard]] const model::JobGpu& job_gpu() const { return resolved_.job->gpus[gpu_]; }

  [[nodiscard]] std::uint32_t stream_of(const Launch& launch) const {
    return plan_.merged ? 0 : launch.stream;
  }

  [[nodiscard]] bool is_unordered(std::uint32_t launch) const {
    return gpu_ < plan_.unordered.size() && launch < plan_.unordered[gpu_].size() &&
           plan_.unordered[gpu_][launch];
  }

  void place_streams() {
    for (const Launch& launch : calls().launches) {
      Cpus& cpus = cpus_[stream_of(launch)];
      for (std::uint32_t i = 0; i < launch.num_calls; ++i)
        serve(calls().calls[launch.first_call + i], cpus);
    }
    for (auto& [stream, cpus] : cpus_) {
      cpus.first = made_.num_cpus;
      made_.num_cpus += cpus.channels + cpus.receives + 1;
    }
  }

  void serve(const Call& call, Cpus& cpus) const {
    const bool receives =
        job_gpu().operations[call.operation].function == model::NcclFunction::kRecv;
    unsigned& served = receives ? cpus.receives : cpus.channels;
    const Exchange& exchange = resolved_.exchanges[call.exchange];
    for (const model::ChannelPart& part : resolved_.shapes[exchange.shape].cut.parts)
      served = std::max(served, part.channel + 1);
  }

  TimedLaunch on_its_cpus(const Launch& launch) {
    const Cpus& cpus = cpus_[stream_of(launch)];
    return {.launch = launch,
            .after = {},
            .cpus = {cpus.first, cpus.first + cpus.channels},
            .message_cpu = cpus.first + cpus.channels + cpus.receives};
  }

  // A launch that waits for an operation which was left out does not wait for it.
  void add_stated(const Launch& launch) {
    const auto index = static_cast<std::uint32_t>(made_.launches.size());
    TimedLaunch timed = on_its_cpus(launch);
    const auto follow = [&](std::uint32_t other) {
      const bool is_known =
          std::find(timed.after.begin(), timed.after.end(), other) != timed.after.end();
      if (other != kNoLaunch && other != index && !is_known) timed.after.push_back(other);
    };
    const auto last = last_of_stream_.find(stream_of(launch));
    if (last != last_of_stream_.end()) follow(last->second);
    const auto take = [&](std::uint32_t number) {
      const model::Operation& operation = job_gpu().operations[number];
      for (std::uint32_t i = 0; i < operation.num_waits; ++i)
        follow(launch_of_[job_gpu().waits[operation.first_wait + i]]);
      timed.gap_ns = std::max(timed.gap_ns, operation.compute_ns);
      launch_of_[number] = index;
    };
    if (launch.num_calls == 0) take(launch.first_operation);
    for (std::uint32_t i = 0; i < launch.num_calls; ++i)
      take(calls().calls[launch.first_call + i].operation);
    made_.launches.push_back(std::move(timed));
    last_of_stream_[stream_of(launch)] = index;
  }

  void add(const Launch& launch) {
    const auto index = static_cast<std::uint32_t>(made_.launches.size());
    const std::uint32_t stream = stream_of(launch);
    TimedLaunch timed = on_its_cpus(launch);
    std::int64_t before_ns = start_ns_;
    const auto follow = [&](std::uint32_t other) {
      timed.after.push_back(other);
      before_ns = std::max(before_ns, made_.launches[other].launch.end_ns);
    };
    const auto last = last_of_stream_.find(stream);
    if (last != last_of_stream_.end()) follow(last->second);
    const std::optional<std::uint32_t> ended = last_ended(launch.start_ns);
    if (ended && !is_unordered(index) && (timed.after.empty() || timed.after[0] != *ended))
      follow(*ended);
    timed.gap_ns = gap(before_ns, launch.start_ns);
    made_.launches.push_back(std::move(timed));
    last_of_stream_[stream] = index;
    running_.push_back(index);
  }

  // Returns the earlier launch that ended last before `time_ns`, which must not fall from call to
  // call.
  std::optional<std::uint32_t> last_ended(std::int64_t time_ns) {
    if (plan_.order == StreamOrder::kIndependent) return std::nullopt;
    const auto end_of = [&](std::uint32_t launch) { return made_.launches[launch].launch.end_ns; };
    const auto has_ended = [&](std::uint32_t launch) {
      if (end_of(launch) > time_ns) return false;
      if (!last_ended_ || end_of(launch) > end_of(*last_ended_)) last_ended_ = launch;
      return true;
    };
    running_.erase(std::remove_if(running_.begin(), running_.end(), has_ended), running_.end());
    return last_ended_;
  }

  std::uint64_t gap(std::int64_t from_ns, std::int64_t to_ns) {
    if (to_ns >= from_ns) return static_cast<std::uint64_t>(to_ns - from_ns);
    warnings_.add("operations of a stream overlap in time", "no gap between them",
                  fmt::format("rank {} at {} ns", gpu_, to_ns));
    return 0;
  }

  const Resolved& resolved_;
  std::uint32_t gpu_;
  const StreamPlan& plan_;
  std::int64_t start_ns_;
  model::Warnings& warnings_;
  GpuTimeline made_;
  std::map<std::uint32_t, Cpus> cpus_;                     // by stream
  std::map<std::uint32_t, std::uint32_t> last_of_stream_;  // index of the launch
  std::vector<std::uint32_t> launch_of_;                   // by operation
  std::vector<std::uint32_t> running_;
  std::optional<std::uint32_t> last_ended_;
};

}  // namespace

GpuTimeline make_timeline(const Resolved& resolved,
                          std::uint32_t gpu,
                          const StreamPlan& plan,
                          std::int64_t start_ns,
                          model::Warnings& warnings) {
  return TimelineMaker(resolved, gpu, plan, start_ns, warnings).run();
}

namespace {

// Returns whether on every GPU no launch begins before those of other streams have ended.
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

// Launches that share exchanges count as one meeting: each ends only after the others have begun.
struct Meeting {
  std::int64_t since_start_ns = 0;  // start of its first launch, since the first launch of that GPU
  std::vector<Place> launches;
  std::vector<std::uint32_t> stream_next;  // meetings that wait for it because they share a stream
  std::vector<std::uint32_t>
      order_next;  // meetings that wait for it only by the order among streams
  std::uint32_t stream_before = 0;
  std::uint32_t order_before = 0;
};

// Merges sets of launches that share an exchange.
class DisjointSets {
 public:
  std::uint32_t add() {
    parent_.push_back(static_cast<std::uint32_t>(parent_.size()));
    return parent_.back();
  }

  std::uint32_t root(std::uint32_t member) {
    while (parent_[member] != member) {
      parent_[member] = parent_[parent_[member]];
      member = parent_[member];
    }
    return member;
  }

  void join(std::uint32_t a, std::uint32_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

// Runs the schedule without times. Where nothing can go on, it frees a meeting that only the order
// among streams holds back.
class Rehearsal {
 public:
  Rehearsal(const Resolved& resolved, const StreamPlan& plan)
      : job_(*resolved.job), merged_(plan.merged) {
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

  // Returns false when a circle of streams remains, which no order among them can break.
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
        // It was freed already.
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

  // What a job states is no order that could be given up.
  [[nodiscard]] bool states_waits(std::uint32_t gpu) const { return job_.gpus[gpu].states_waits; }

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
      const bool stream =
          merged_ || states_waits(at.gpu) || launches[after].launch.stream == timed.launch.stream;
      (stream ? meetings_[before].stream_next : meetings_[before].order_next).push_back(number);
      ++(stream ? meeting.stream_before : meeting.order_before);
    }
  }

  // A meeting without launches is a member of another one and is done from the beginning.
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

  const model::Job& job_;
  bool merged_;
  std::vector<GpuTimeline> timelines_;              // by GPU
  std::vector<std::vector<std::uint32_t>> number_;  // by GPU, launch
  DisjointSets groups_;
  std::vector<Meeting> meetings_;  // by number; joined launches are at the root of their set
  std::vector<std::uint32_t> ready_;
  std::set<std::pair<std::int64_t, std::uint32_t>>
      held_;  // meetings that only the order among streams holds back
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
