#include "goal/circles.h"

#include <fmt/core.h>

#include <string>
#include <vector>

namespace assay::goal {
namespace {

enum class MessageKind { kEager, kRendezvous };

struct LaunchPlace {
  std::uint32_t gpu = 0;
  std::uint32_t launch = 0;  // index into the GPU's timeline
};

// A launch during the search, and what it still waits for.
struct LaunchState {
  std::size_t before = 0;     // launches that it follows
  std::size_t exchanges = 0;  // that lack a launch
  bool has_begun = false;
  std::vector<std::uint32_t> next;  // launches that follow it
};

struct Encounter {
  std::size_t missing = 0;  // launches that have not begun
  std::vector<LaunchPlace> waiting;
};

class CircleSearch {
 public:
  CircleSearch(const Resolved& resolved,
               const std::vector<GpuTimeline>& timelines,
               MessageKind messages)
      : resolved_(resolved),
        timelines_(timelines),
        messages_(messages),
        encounters_(resolved.exchanges.size()) {
    for (std::uint32_t gpu = 0; gpu < timelines_.size(); ++gpu) {
      states_.emplace_back(timelines_[gpu].launches.size());
      for (std::uint32_t i = 0; i < timelines_[gpu].launches.size(); ++i)
        place({gpu, i});
    }
  }

  void run() {
    for (std::uint32_t gpu = 0; gpu < states_.size(); ++gpu) {
      for (std::uint32_t i = 0; i < states_[gpu].size(); ++i) {
        if (states_[gpu][i].before == 0) ready_.push_back({gpu, i});
      }
    }
    while (!ready_.empty()) {
      const LaunchPlace at = ready_.back();
      ready_.pop_back();
      begin(at);
    }
  }

  // Returns the launches that have begun and do not end.
  [[nodiscard]] std::vector<LaunchPlace> stuck() const {
    std::vector<LaunchPlace> stuck;
    for (std::uint32_t gpu = 0; gpu < states_.size(); ++gpu) {
      for (std::uint32_t i = 0; i < states_[gpu].size(); ++i) {
        const LaunchState& state = states_[gpu][i];
        if (state.has_begun && state.exchanges > 0) stuck.push_back({gpu, i});
      }
    }
    return stuck;
  }

  // Returns the first exchange of the launch that lacks another one.
  [[nodiscard]] std::string describe(LaunchPlace at) const {
    const Launch& launch = timelines_[at.gpu].launches[at.launch].launch;
    for (std::uint32_t i = 0; i < launch.num_calls; ++i) {
      const Call& call = call_of(at, i);
      if (encounters_[call.exchange].missing == 0 || !waits(at, call)) continue;
      const model::Operation& operation = operation_of(at, call);
      return fmt::format("rank {}: {} #{} on {}", at.gpu, name_of(operation.function),
                         operation.sequence,
                         resolved_.job->communicators[operation.communicator].name);
    }
    return fmt::format("rank {}", at.gpu);
  }

 private:
  [[nodiscard]] const Call& call_of(LaunchPlace at, std::uint32_t index) const {
    const Launch& launch = timelines_[at.gpu].launches[at.launch].launch;
    return resolved_.gpus[at.gpu].calls[launch.first_call + index];
  }

  [[nodiscard]] const model::Operation& operation_of(LaunchPlace at, const Call& call) const {
    return resolved_.job->gpus[at.gpu].operations[call.operation];
  }

  // A rank that only sends eager messages waits for nobody; some ranks of collectives with a root
  // do only that.
  [[nodiscard]] bool waits(LaunchPlace at, const Call& call) const {
    if (messages_ == MessageKind::kRendezvous) return true;
    switch (operation_of(at, call).function) {
      case model::NcclFunction::kSend:
      case model::NcclFunction::kBroadcast:
      case model::NcclFunction::kReduce:
      case model::NcclFunction::kScatter:
      case model::NcclFunction::kGather:
        return false;
      default:
        return true;
    }
  }

  void place(LaunchPlace at) {
    const TimedLaunch& timed = timelines_[at.gpu].launches[at.launch];
    LaunchState& state = states_[at.gpu][at.launch];
    state.before = timed.after.size();
    for (const std::uint32_t before : timed.after)
      states_[at.gpu][before].next.push_back(at.launch);
    for (std::uint32_t i = 0; i < timed.launch.num_calls; ++i) {
      const Call& call = call_of(at, i);
      Encounter& encounter = encounters_[call.exchange];
      ++encounter.missing;
      if (!waits(at, call)) continue;
      ++state.exchanges;
      encounter.waiting.push_back(at);
    }
  }

  void begin(LaunchPlace at) {
    LaunchState& state = states_[at.gpu][at.launch];
    state.has_begun = true;
    const std::uint32_t calls = timelines_[at.gpu].launches[at.launch].launch.num_calls;
    if (state.exchanges == 0) end(at);
    for (std::uint32_t i = 0; i < calls; ++i) {
      const Encounter& encounter = encounters_[call_of(at, i).exchange];
      if (--encounters_[call_of(at, i).exchange].missing > 0) continue;
      for (const LaunchPlace waiting : encounter.waiting) {
        if (--states_[waiting.gpu][waiting.launch].exchanges == 0) end(waiting);
      }
    }
  }

  void end(LaunchPlace at) {
    for (const std::uint32_t next : states_[at.gpu][at.launch].next) {
      if (--states_[at.gpu][next].before == 0) ready_.push_back({at.gpu, next});
    }
  }

  const Resolved& resolved_;
  const std::vector<GpuTimeline>& timelines_;  // by GPU
  MessageKind messages_;
  std::vector<std::vector<LaunchState>> states_;  // by GPU, launch
  std::vector<Encounter> encounters_;             // by exchange
  std::vector<LaunchPlace> ready_;
};

// The launches as all searches of a schedule see them; what is wrong with their times is told where
// the schedule is made.
std::vector<GpuTimeline> timelines_of(const Resolved& resolved, const StreamPlan& plan) {
  std::vector<GpuTimeline> timelines;
  model::Warnings unused;
  for (std::uint32_t gpu = 0; gpu < resolved.gpus.size(); ++gpu)
    timelines.push_back(make_timeline(resolved, gpu, plan, 0, unused));
  return timelines;
}

// Returns whether there are none.
bool warn_of_circles(CircleSearch rehearsal,
                     const char* reason,
                     const char* effect,
                     model::Warnings& warnings) {
  rehearsal.run();
  const std::vector<LaunchPlace> stuck = rehearsal.stuck();
  if (stuck.empty()) return true;
  warnings.add(reason, effect, rehearsal.describe(stuck.front()),
               static_cast<std::int64_t>(stuck.size()));
  return false;
}

}  // namespace

void warn_of_circles(const Resolved& resolved, const StreamPlan& plan, model::Warnings& warnings) {
  const std::vector<GpuTimeline> timelines = timelines_of(resolved, plan);
  if (!warn_of_circles(CircleSearch(resolved, timelines, MessageKind::kEager),
                       "operations that wait for each other in a circle", "the schedule cannot end",
                       warnings)) {
    return;
  }
  warn_of_circles(CircleSearch(resolved, timelines, MessageKind::kRendezvous),
                  "operations that wait in a circle when sends wait for their receives",
                  "the schedule ends with eager messages only: S must be at least their size",
                  warnings);
}

}  // namespace assay::goal
