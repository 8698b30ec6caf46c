#include "trace/steps.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace assay::trace {
namespace {

// Steps by number; a step seen in several pieces (one a stream) is their hull.
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

Windows launched_windows(const RankAnalysis& rank) {
  const model::Trace& trace = *rank.trace;
  Windows windows;
  for (const model::Annotation& a : trace.annotations) {
    const auto step = profiler_step_number(trace.text(a.name));
    if (a.on_gpu || !step) continue;
    for (std::size_t event = 0; event < trace.gpu_events.size(); ++event) {
      const NodeId call = rank.tree.launched_by[event];
      if (call == kNoNode) continue;
      const std::int64_t launched = node_start_ns(trace, rank.tree.nodes[call]);
      if (launched >= a.start_ns && launched < a.start_ns + a.duration_ns) {
        extend(windows, *step, rank.gpu_intervals[event]);
      }
    }
  }
  return windows;
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

std::vector<Step> gpu_steps(const RankAnalysis& rank) {
  Windows windows = annotated_windows(rank);
  if (windows.empty()) windows = launched_windows(rank);
  std::vector<Step> steps;
  for (const auto& [number, window] : windows)
    steps.push_back({number, window});
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.window.start < b.window.start; });
  return steps;
}

}  // namespace assay::trace
