#include "goal/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace assay::goal {
namespace {

unsigned channels_of(const Resolved& resolved, const GpuCalls& calls, const Launch& launch) {
  unsigned channels = 1;
  for (std::uint32_t i = 0; i < launch.num_calls; ++i) {
    const Exchange& exchange = resolved.exchanges[calls.calls[launch.first_call + i].exchange];
    for (const model::ChannelPart& part : resolved.shapes[exchange.shape].cut.parts) {
      channels = std::max(channels, part.channel + 1);
    }
  }
  return channels;
}

std::vector<Launch> by_start(std::vector<Launch> launches) {
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
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
    for (const Launch& launch : by_start(calls().launches))
      add(launch);
    std::int64_t end_ns = start_ns_;
    for (const auto& [stream, last] : last_of_stream_) {
      made_.last.push_back(last);
      end_ns = std::max(end_ns, made_.launches[last].launch.end_ns);
    }
    const std::int64_t window_end_ns = resolved_.job->gpus[gpu_].window_end_ns;
    if (window_end_ns > end_ns) made_.tail_ns = static_cast<std::uint64_t>(window_end_ns - end_ns);
    return std::move(made_);
  }

 private:
  struct Cpus {
    unsigned channels = 0;
    unsigned first = 0;
  };

  [[nodiscard]] const GpuCalls& calls() const { return resolved_.gpus[gpu_]; }

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
      cpus.channels = std::max(cpus.channels, channels_of(resolved_, calls(), launch));
    }
    for (auto& [stream, cpus] : cpus_) {
      cpus.first = made_.num_cpus;
      made_.num_cpus += cpus.channels + 1;
    }
  }

  void add(const Launch& launch) {
    const auto index = static_cast<std::uint32_t>(made_.launches.size());
    const std::uint32_t stream = stream_of(launch);
    TimedLaunch timed{.launch = launch, .after = {}};
    timed.first_cpu = cpus_[stream].first;
    timed.message_cpu = timed.first_cpu + cpus_[stream].channels;
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

  // Of the launches before, the one that ended last before `time_ns`. Times asked for never fall.
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
  std::map<std::uint32_t, std::uint32_t> last_of_stream_;  // launches
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

}  // namespace assay::goal
