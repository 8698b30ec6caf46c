#include "trace/unlinked_work.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "trace/steps.h"

namespace assay::trace {
namespace {

using Stream = std::pair<std::int32_t, std::int32_t>;  // device, stream

Stream stream_of(const model::GpuEvent& event) {
  return {event.device, event.stream};
}

std::vector<std::uint32_t> by_start(const model::Trace& trace) {
  std::vector<std::uint32_t> order(trace.gpu_events.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.gpu_events[a].start_ns < trace.gpu_events[b].start_ns;
  });
  return order;
}

// Only these have names that tell the same step on both sides.
bool are_of_the_profiler_on_the_cpu(const ProfilerSteps& steps) {
  return !steps.empty() && !steps.serve() && steps.side() == ProfilerSteps::Side::kCpu;
}

// The ranges of the profiled steps on the GPU.
class StepRanges {
 public:
  StepRanges(const model::Trace& trace, const CallTree& tree) {
    const ProfilerSteps steps(trace);
    if (!are_of_the_profiler_on_the_cpu(steps)) return;
    std::set<std::int64_t> without_launches;
    for (const std::size_t step : steps_without_launches(trace, tree, steps))
      without_launches.insert(steps.number(step));
    std::map<std::int64_t, std::int64_t> starts;  // by number
    for (std::size_t step = 0; step < steps.size(); ++step)
      starts.try_emplace(steps.number(step), steps.range_ns(step).start);
    for (const model::Annotation& range : trace.annotations) {
      if (!range.on_gpu) continue;
      const auto number = profiler_step_number(trace.text(range.name));
      const auto found = number ? starts.find(*number) : starts.end();
      if (found == starts.end()) continue;
      const Begin begin{range.start_ns, found->second};
      of_tracks_[range.track].push_back(begin);
      if (without_launches.count(*number) > 0) without_launches_.push_back(begin);
    }
    for (auto& [track, begins] : of_tracks_)
      put_in_order(begins);
    put_in_order(without_launches_);
  }

  // Returns when the latest step began on the CPU whose range began on the stream of this work
  // before it.
  [[nodiscard]] std::optional<std::int64_t> on_its_stream(const model::GpuEvent& work) const {
    const auto own = of_tracks_.find(work.track);
    return own == of_tracks_.end() ? std::nullopt : latest(own->second, work.start_ns);
  }

  // Returns the same of the steps without launches, on any stream.
  [[nodiscard]] std::optional<std::int64_t> without_launches(const model::GpuEvent& work) const {
    return latest(without_launches_, work.start_ns);
  }

 private:
  struct Begin {
    std::int64_t on_gpu_ns;
    std::int64_t on_cpu_ns;  // of the latest step so far, in order
  };

  static void put_in_order(std::vector<Begin>& begins) {
    std::sort(begins.begin(), begins.end(),
              [](const Begin& a, const Begin& b) { return a.on_gpu_ns < b.on_gpu_ns; });
    for (std::size_t i = 1; i < begins.size(); ++i)
      begins[i].on_cpu_ns = std::max(begins[i].on_cpu_ns, begins[i - 1].on_cpu_ns);
  }

  static std::optional<std::int64_t> latest(const std::vector<Begin>& begins, std::int64_t by_ns) {
    const auto after =
        std::upper_bound(begins.begin(), begins.end(), by_ns,
                         [](std::int64_t at, const Begin& begin) { return at < begin.on_gpu_ns; });
    return after == begins.begin() ? std::nullopt : std::optional(std::prev(after)->on_cpu_ns);
  }

  std::map<model::TrackId, std::vector<Begin>> of_tracks_;
  std::vector<Begin> without_launches_;
};

std::optional<std::int64_t> later(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

}  // namespace

std::vector<UnlinkedWork> find_unlinked_work(const model::Trace& trace, const CallTree& tree) {
  const auto& launched_by = tree.launched_by;
  if (std::find(launched_by.begin(), launched_by.end(), kNoNode) == launched_by.end()) return {};
  // The call that launched the latest linked work so far, by stream. Only streams with linked work.
  std::map<Stream, NodeId> latest;
  for (std::size_t i = 0; i < launched_by.size(); ++i)
    if (launched_by[i] != kNoNode) latest[stream_of(trace.gpu_events[i])] = kNoNode;
  NodeId latest_of_all = kNoNode;
  const StepRanges ranges(trace, tree);
  std::vector<UnlinkedWork> result;
  for (const std::uint32_t event : by_start(trace)) {
    const auto own = latest.find(stream_of(trace.gpu_events[event]));
    if (launched_by[event] != kNoNode) {
      own->second = latest_of_all = launched_by[event];
      continue;
    }
    const NodeId before = own == latest.end() ? latest_of_all : own->second;
    const model::GpuEvent& work = trace.gpu_events[event];
    std::optional<std::int64_t> launched_after_ns = ranges.on_its_stream(work);
    if (before != kNoNode) {
      launched_after_ns = later(launched_after_ns, node_start_ns(trace, tree.nodes[before]));
      launched_after_ns = later(launched_after_ns, ranges.without_launches(work));
    }
    result.push_back({.event = event,
                      .is_leaked = !launched_after_ns && !trace.runtime_calls.empty(),
                      .launched_after_ns = launched_after_ns});
  }
  std::sort(result.begin(), result.end(),
            [](const UnlinkedWork& a, const UnlinkedWork& b) { return a.event < b.event; });
  return result;
}

std::vector<std::size_t> steps_without_launches(const model::Trace& trace,
                                                const CallTree& tree,
                                                const ProfilerSteps& steps) {
  if (!are_of_the_profiler_on_the_cpu(steps)) return {};
  std::vector<bool> has_launches(steps.size(), false);
  for (const NodeId call : tree.launched_by) {
    if (call == kNoNode) continue;
    const auto step = steps.find(node_start_ns(trace, tree.nodes[call]));
    if (step) has_launches[*step] = true;
  }
  std::vector<std::size_t> without;
  for (std::size_t step = 0; step < steps.size(); ++step)
    if (!has_launches[step]) without.push_back(step);
  return without;
}

}  // namespace assay::trace
