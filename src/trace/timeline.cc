#include "trace/timeline.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace assay::trace {
namespace {

// The window of each step, by its number. A step that is recorded in several pieces (one per
// stream) gets the hull of its pieces.
using Windows = std::map<std::int64_t, Interval>;

void extend(Windows& windows, std::int64_t step, const Interval& piece) {
  const auto [found, inserted] = windows.try_emplace(step, piece);
  if (inserted) return;
  found->second.start = std::min(found->second.start, piece.start);
  found->second.end = std::max(found->second.end, piece.end);
}

Windows annotated_windows(const RankAnalysis& rank) {
  Windows windows;
  for (const model::Annotation& a : rank.trace->annotations) {
    if (!a.on_gpu) continue;
    if (const auto step = profiler_step_number(rank.trace->text(a.name))) {
      extend(windows, *step, rank.time.interval(a.start_ns, a.duration_ns));
    }
  }
  return windows;
}

struct CpuStep {
  std::int64_t number;
  Interval window_ns;
};

std::vector<CpuStep> cpu_steps(const model::Trace& trace) {
  std::vector<CpuStep> steps;
  for (const model::Annotation& a : trace.annotations) {
    const auto number = profiler_step_number(trace.text(a.name));
    if (number && !a.on_gpu) {
      steps.push_back({*number, {a.start_ns, a.start_ns + a.duration_ns}});
    }
  }
  std::sort(steps.begin(), steps.end(), [](const CpuStep& a, const CpuStep& b) {
    return a.window_ns.start < b.window_ns.start;
  });
  return steps;
}

// The window of a step lasts from the first to the last GPU work that it launched.
Windows launched_windows(const RankAnalysis& rank) {
  const std::vector<CpuStep> steps = cpu_steps(*rank.trace);
  Windows windows;
  for (std::size_t event = 0; event < rank.gpu_intervals.size(); ++event) {
    const NodeId call = rank.tree.launched_by[event];
    if (call == kNoNode || !rank.counted[event]) continue;
    const std::int64_t launched = node_start_ns(*rank.trace, rank.tree.nodes[call]);
    const auto after = std::upper_bound(
        steps.begin(), steps.end(), launched,
        [](std::int64_t time, const CpuStep& step) { return time < step.window_ns.start; });
    if (after == steps.begin()) continue;
    extend(windows, std::prev(after)->number, rank.gpu_intervals[event]);
  }
  return windows;
}

// If the CPU is slower than the GPU, the GPU also waits for it after its last work.
void extend_to_cpu_end(const RankAnalysis& rank, Step& last) {
  for (const CpuStep& cpu : cpu_steps(*rank.trace)) {
    if (cpu.number != last.number) continue;
    const Interval window = rank.time.interval(cpu.window_ns.start, cpu.window_ns.length());
    last.window.end = std::max(last.window.end, window.end);
  }
}

std::vector<Step> by_start(const Windows& windows) {
  std::vector<Step> steps;
  for (const auto& [number, window] : windows)
    steps.push_back({number, window});
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.window.start < b.window.start; });
  return steps;
}

BusyIntervals clipped(const BusyIntervals& busy, const Interval& window) {
  const std::span<const Interval> bounds(&window, 1);
  return {intersection(busy.computation, bounds), intersection(busy.communication, bounds),
          intersection(busy.memcpy, bounds), intersection(busy.all, bounds)};
}

Timeline measured(const BusyIntervals& busy, std::int64_t total) {
  Timeline result;
  result.computation = total_length(busy.computation);
  result.exposed_comm = total_length(difference(busy.communication, busy.computation));
  result.exposed_memcpy =
      total_length(difference(difference(busy.memcpy, busy.computation), busy.communication));
  result.busy = total_length(busy.all);
  result.idle = total - result.busy;
  result.total = total;
  result.total_comm = total_length(busy.communication);
  result.total_memcpy = total_length(busy.memcpy);
  return result;
}

}  // namespace

std::optional<std::int64_t> profiler_step_number(std::string_view annotation) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  if (!annotation.starts_with(kPrefix)) return std::nullopt;
  annotation.remove_prefix(kPrefix.size());
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(annotation.data(), annotation.data() + annotation.size(), number);
  if (error != std::errc() || end != annotation.data() + annotation.size()) return std::nullopt;
  return number;
}

std::optional<Interval> profiled_cpu_window_ns(const model::Trace& trace) {
  Windows windows;
  for (const model::Annotation& a : trace.annotations) {
    if (!a.on_gpu && profiler_step_number(trace.text(a.name))) {
      extend(windows, 0, {a.start_ns, a.start_ns + a.duration_ns});
    }
  }
  if (windows.empty()) return std::nullopt;
  return windows.begin()->second;
}

std::int64_t overlapping_steps(const model::Trace& trace) {
  const std::vector<CpuStep> steps = cpu_steps(trace);
  std::int64_t overlapping = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const bool same = steps[i].number == steps[i - 1].number;
    if (same || steps[i].window_ns.start < steps[i - 1].window_ns.end) ++overlapping;
  }
  return overlapping;
}

std::vector<Step> gpu_steps(const RankAnalysis& rank) {
  std::vector<Step> steps = by_start(launched_windows(rank));
  if (steps.empty()) return by_start(annotated_windows(rank));
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    steps[i].window.end = steps[i + 1].window.start;
  }
  extend_to_cpu_end(rank, steps.back());
  return steps;
}

std::optional<Interval> profiled_gpu_window(const RankAnalysis& rank) {
  std::vector<Step> steps = by_start(annotated_windows(rank));
  if (steps.empty()) steps = rank.steps;
  if (steps.empty()) return std::nullopt;
  Interval window = steps.front().window;
  for (const Step& step : steps)
    window.end = std::max(window.end, step.window.end);
  return window;
}

BusyIntervals busy_intervals(const RankAnalysis& rank) {
  BusyIntervals busy;
  for (std::size_t i = 0; i < rank.gpu_intervals.size(); ++i) {
    if (!rank.counted[i]) continue;
    const Interval& interval = rank.gpu_intervals[i];
    busy.all.push_back(interval);
    switch (rank.gpu_work[i]) {
      case GpuWork::kComputation:
        busy.computation.push_back(interval);
        break;
      case GpuWork::kCommunication:
        busy.communication.push_back(interval);
        break;
      case GpuWork::kMemcpy:
        busy.memcpy.push_back(interval);
        break;
    }
  }
  return {merged(std::move(busy.computation)), merged(std::move(busy.communication)),
          merged(std::move(busy.memcpy)), merged(std::move(busy.all))};
}

Timeline timeline(const BusyIntervals& busy, const std::optional<Interval>& window) {
  if (window) return measured(clipped(busy, *window), window->length());
  if (busy.all.empty()) return {};
  return measured(busy, busy.all.back().end - busy.all.front().start);
}

}  // namespace assay::trace
