#include "trace/analysis.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "trace/communication_kernel.h"
#include "trace/steps.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

using model::GpuEventKind;

// ROCm runs some copies as kernels. These are the names of those kernels.
bool is_copy_kernel(std::string_view name) {
  static const std::regex pattern(
      "MEMORY_COPY_(HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)"
      "|__amd_rocclr_copyBuffer(Rect)?(Aligned)?(\\.kd)?");
  return std::regex_match(name.begin(), name.end(), pattern);
}

GpuWork classify(std::string_view name, GpuEventKind kind, Compat compat) {
  if (kind == GpuEventKind::kMemcpy) return GpuWork::kMemcpy;
  if (kind == GpuEventKind::kMemset) return GpuWork::kComputation;
  if (communication_of(name, compat)) return GpuWork::kCommunication;
  return is_copy_kernel(name) ? GpuWork::kMemcpy : GpuWork::kComputation;
}

// Classifies each distinct name once, since there are few names and many events.
std::vector<GpuWork> classify_all(const model::Trace& trace, Compat compat) {
  std::vector<std::int8_t> known(trace.texts.size(), -1);
  std::vector<GpuWork> work;
  work.reserve(trace.gpu_events.size());
  for (const model::GpuEvent& event : trace.gpu_events) {
    if (event.kind != GpuEventKind::kKernel) {
      work.push_back(classify({}, event.kind, compat));
      continue;
    }
    std::int8_t& cached = known[event.name];
    if (cached < 0) {
      cached = static_cast<std::int8_t>(classify(trace.text(event.name), event.kind, compat));
    }
    work.push_back(static_cast<GpuWork>(cached));
  }
  return work;
}

// Kernels may overlap, so the sum of their durations may exceed 2^63 - 1 ticks.
void tally(KernelTally& tally, std::int64_t ticks) {
  ++tally.kernels;
  if (__builtin_add_overflow(tally.ticks, ticks, &tally.ticks)) {
    tally.ticks = std::numeric_limits<std::int64_t>::max();
  }
}

// The public tool counts work without a launch record only when it is asked to.
void count_by_link(RankAnalysis& rank) {
  const bool is_compat = rank.options.compat == Compat::kTraceLens;
  rank.counted.assign(rank.gpu_intervals.size(), true);
  rank.unlinked = find_unlinked_work(*rank.trace, rank.tree);
  for (const UnlinkedWork& work : rank.unlinked) {
    rank.counted[work.event] = is_compat ? rank.options.include_unlinked : !work.is_leaked;
    if (work.is_leaked) tally(rank.excluded.leaked, rank.gpu_intervals[work.event].length());
  }
}

// A kernel that was recorded twice must count once.
void leave_out_duplicates(RankAnalysis& rank) {
  const auto& events = rank.trace->gpu_events;
  const auto key = [&](std::uint32_t i) {
    const model::GpuEvent& e = events[i];
    return std::tie(e.start_ns, e.duration_ns, e.correlation, e.device, e.stream, e.name, e.kind);
  };
  std::vector<std::uint32_t> order(events.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const bool same = events[order[i]].correlation >= 0 && events[order[i]].duration_ns > 0 &&
                      key(order[i - 1]) == key(order[i]);
    if (!same || !rank.counted[order[i]]) continue;
    rank.counted[order[i]] = false;
    rank.warnings.add("GPU event recorded twice", "counted once",
                      rank.trace->text(events[order[i]].name));
  }
}

// Returns when some work was launched or, without a launch record, the earliest time at which it
// can have been.
std::optional<std::int64_t> launched_ns(const RankAnalysis& rank, std::uint32_t event) {
  const NodeId call = rank.tree.launched_by[event];
  if (call != kNoNode) return node_start_ns(*rank.trace, rank.tree.nodes[call]);
  const auto found = std::lower_bound(
      rank.unlinked.begin(), rank.unlinked.end(), event,
      [](const UnlinkedWork& work, std::uint32_t value) { return work.event < value; });
  return found == rank.unlinked.end() ? std::nullopt : found->launched_after_ns;
}

// What was launched within the profiled steps belongs to them, whenever it ran. A trace that names
// the steps on the GPU alone does not tell when a step launched, nor does one without calls.
std::int64_t deciding_time_ns(const RankAnalysis& rank,
                              const ProfilerSteps& steps,
                              std::uint32_t event) {
  const std::int64_t start_ns = rank.trace->gpu_events[event].start_ns;
  if (steps.side() == ProfilerSteps::Side::kGpu) return start_ns;
  return launched_ns(rank, event).value_or(start_ns);
}

// An engine may annotate a process that launches nothing.
bool launch_anything(const RankAnalysis& rank, const ProfilerSteps& steps) {
  for (std::uint32_t i = 0; i < rank.counted.size(); ++i)
    if (rank.counted[i] && steps.find(deciding_time_ns(rank, steps, i))) return true;
  return false;
}

void count_only_steps(RankAnalysis& rank, const ProfilerSteps& steps) {
  if (steps.empty() || (steps.serve() && !launch_anything(rank, steps))) return;
  StepWindows windows(steps);
  for (std::uint32_t i = 0; i < rank.counted.size(); ++i) {
    if (!rank.counted[i]) continue;
    if (const auto step = steps.find(deciding_time_ns(rank, steps, i))) {
      windows.extend(*step, rank.gpu_intervals[i]);
      continue;
    }
    rank.counted[i] = false;
    tally(rank.excluded.outside, rank.gpu_intervals[i].length());
  }
  rank.steps = windows.steps();
}

// Work without a launch record that counts in a step may be of a later one that began before it
// ran.
class DoubtfulWork {
 public:
  explicit DoubtfulWork(const RankAnalysis& rank) {
    for (const UnlinkedWork& work : rank.unlinked)
      if (rank.counted[work.event] && work.launched_after_ns)
        works_.push_back({*work.launched_after_ns, rank.trace->gpu_events[work.event].start_ns});
    std::sort(works_.begin(), works_.end(), [](const Work& a, const Work& b) {
      return a.launched_after_ns < b.launched_after_ns;
    });
    for (std::size_t i = 1; i < works_.size(); ++i)
      works_[i].start_ns = std::max(works_[i].start_ns, works_[i - 1].start_ns);
  }

  // Returns whether a range on the GPU, or a call, tells that some work is of this step.
  [[nodiscard]] bool has_range_of(const Interval& step) const {
    const auto from = first_launched_from(step.start);
    return from != works_.end() && from->launched_after_ns < step.end;
  }

  // Returns whether some work may be of a step that began at this time, although it counts before.
  [[nodiscard]] bool may_be_of(std::int64_t step_ns) const {
    const auto from = first_launched_from(step_ns);
    return from != works_.begin() && std::prev(from)->start_ns >= step_ns;
  }

 private:
  struct Work {
    std::int64_t launched_after_ns;
    std::int64_t start_ns;  // of the latest work so far, in order
  };

  [[nodiscard]] std::vector<Work>::const_iterator first_launched_from(std::int64_t time_ns) const {
    return std::lower_bound(
        works_.begin(), works_.end(), time_ns,
        [](const Work& work, std::int64_t at) { return work.launched_after_ns < at; });
  }

  std::vector<Work> works_;
};

// Steps of which all launch records are missing have the work that their ranges on the GPU tell.
// Where they have no range either, the step before may hold their work.
void account_for_lost_launches(RankAnalysis& rank, const ProfilerSteps& steps) {
  if (rank.unlinked.empty() || rank.steps.empty()) return;
  const std::vector<std::size_t> lost = steps_without_launches(*rank.trace, rank.tree, steps);
  const std::set<std::size_t> without_launches(lost.begin(), lost.end());
  const DoubtfulWork doubtful(rank);
  std::map<std::int64_t, Step*> with_work;  // by number
  for (Step& step : rank.steps)
    with_work.try_emplace(step.number, &step);
  Step* before = nullptr;  // the last one with work
  for (std::size_t position = 0; position < steps.size(); ++position) {
    const auto found = with_work.find(steps.number(position));
    const bool has_work = found != with_work.end();
    const bool is_lost = without_launches.count(position) > 0;
    if (is_lost && has_work) {
      rank.warnings.add(
          "profiled steps whose launch records are all missing",
          doubtful.has_range_of(steps.range_ns(position))
              ? "their ranges on the GPU tell their work"
              : "their work is told by when it ran, so some may be of the step before",
          fmt::format("rank {}: step {}", rank.rank, found->first));
    } else if (is_lost && doubtful.may_be_of(steps.range_ns(position).start)) {
      rank.warnings.add("profiled steps without launch records and without a range on the GPU",
                        "left out; the step before, which may hold their work, is not compared",
                        fmt::format("rank {}: step {}", rank.rank, steps.number(position)));
      if (before != nullptr) before->may_hold_next = true;
    }
    if (has_work) before = found->second;
  }
}

// Work on one stream runs in order, so a kernel that spans the whole of its successor has a
// corrupt end (seen on MI355X). It is cut where the successor starts. Kernels of one graph launch
// share a correlation id and may overlap, so they are left alone.
void clip_overrunning_kernels(RankAnalysis& rank) {
  const auto& events = rank.trace->gpu_events;
  std::vector<std::uint32_t> order(events.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(events[a].device, events[a].stream, events[a].start_ns, a) <
           std::tie(events[b].device, events[b].stream, events[b].start_ns, b);
  });
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const model::GpuEvent& event = events[order[i]];
    const model::GpuEvent& next = events[order[i + 1]];
    if (event.device != next.device || event.stream != next.stream || event.stream < 0) continue;
    Interval& run = rank.gpu_intervals[order[i]];
    const Interval& following = rank.gpu_intervals[order[i + 1]];
    const bool spans_next = following.length() > 0 && run.end > following.end;
    if (!spans_next || event.correlation == next.correlation || run.start == following.start) {
      continue;
    }
    rank.warnings.add("kernel that outlasts the next one on its stream",
                      "ended where the next one starts", rank.trace->text(event.name));
    run.end = following.start;
  }
}

void note_steps(RankAnalysis& rank, const ProfilerSteps& steps) {
  const std::string& path = rank.trace->path;
  if (steps.overlapping() > 0) {
    rank.warnings.add("profiled steps that overlap or share a number",
                      "their times hold work of each other", path, steps.overlapping());
  }
  if (rank.options.compat != Compat::kNone || rank.trace->gpu_events.empty()) return;
  if (steps.empty() || (steps.serve() && rank.steps.empty())) {
    const bool has_calls = !rank.trace->runtime_calls.empty();
    rank.warnings.add("no ProfilerStep annotations",
                      has_calls ? "all launched kernels are counted" : "all kernels are counted",
                      path);
  } else if (steps.side() == ProfilerSteps::Side::kGpu) {
    rank.warnings.add(steps.serve() ? "annotations of the model's runs on the GPU only"
                                    : "ProfilerStep annotations on the GPU only",
                      "work belongs to the step in which it starts", path);
  }
}

void note_devices(RankAnalysis& rank) {
  std::set<std::int32_t> devices;
  for (std::size_t i = 0; i < rank.counted.size(); ++i) {
    const model::GpuEvent& event = rank.trace->gpu_events[i];
    if (rank.counted[i] && event.kind == model::GpuEventKind::kKernel && event.device >= 0)
      devices.insert(event.device);
  }
  if (devices.size() < 2) return;
  rank.warnings.add("kernels on several GPUs in one trace",
                    "their times are those of all of them together, as if they were one GPU",
                    fmt::format("rank {}: GPUs {}", rank.rank, fmt::join(devices, ", ")));
}

// A report without any time would look like a measurement of nothing.
const char* effect_in_compat(const RankAnalysis& rank) {
  if (rank.options.include_unlinked) return "counted, as asked";
  const bool counts_anything =
      std::find(rank.counted.begin(), rank.counted.end(), true) != rank.counted.end();
  return counts_anything ? "not counted"
                         : "not counted, and nothing else is: gpu_timeline and shares of its time "
                           "are missing; --include-unlinked counts them";
}

// Warns of work that counts, or is asked for, although nothing tells what launched it.
void note_unlinked(RankAnalysis& rank) {
  const bool is_compat = rank.options.compat == Compat::kTraceLens;
  KernelTally missing;
  for (const UnlinkedWork& work : rank.unlinked)
    if (!work.is_leaked && (is_compat || rank.counted[work.event]))
      tally(missing, rank.gpu_intervals[work.event].length());
  if (missing.kernels == 0) return;
  const bool has_calls = !rank.trace->runtime_calls.empty();
  const char* effect = has_calls ? "counted, in the step that their stream was at; sheets of "
                                   "operators lack them"
                                 : "all are counted; what launched them, how long they waited and "
                                   "which leaked from before the profile cannot be told";
  if (is_compat) effect = effect_in_compat(rank);
  rank.warnings.add(has_calls ? "kernels, copies and fills whose launch record is missing"
                              : "kernels, copies and fills in a trace without launch records",
                    effect, fmt::format("rank {}", rank.rank), missing.kernels,
                    rank.time.milliseconds(missing.ticks));
}

void note_findings(RankAnalysis& rank, const ProfilerSteps& steps) {
  const model::Trace& trace = *rank.trace;
  const auto warn_of = [&](const KernelTally& tally, const char* reason, const char* effect) {
    if (tally.kernels == 0) return;
    rank.warnings.add(reason, effect, fmt::format("rank {}", rank.rank), tally.kernels,
                      rank.time.milliseconds(tally.ticks));
  };
  warn_of(rank.excluded.leaked,
          "kernels leaked from before the profile (no recorded call launched them)",
          rank.options.include_unlinked ? "counted, as asked" : "not counted");
  note_unlinked(rank);
  warn_of(rank.excluded.outside, "kernels launched outside the profiled steps", "not counted");
  if (rank.tree.duplicate_correlations > 0) {
    rank.warnings.add("calls that share a correlation id", "the last one owns the GPU work",
                      trace.path, rank.tree.duplicate_correlations);
  }
  note_steps(rank, steps);
  note_devices(rank);
  if (trace.gpu_events.empty()) {
    rank.warnings.add("no GPU events", "GPU sheets are empty", trace.path);
  }
}

std::vector<Launcher> find_launchers(const RankAnalysis& rank) {
  struct Launch {
    NodeId launcher;
    bool is_replayed;
    std::uint32_t position;  // in launch order
  };

  const CallTree& tree = rank.tree;
  std::vector<Launch> launches;
  for (std::uint32_t i = 0; i < tree.gpu_events.size(); ++i) {
    const std::uint32_t event = tree.gpu_events[i];
    if (!rank.counted[event] || rank.gpu_work[event] == GpuWork::kCommunication) continue;
    const NodeId call = tree.launched_by[event];
    const bool is_replayed =
        rank.options.compat == Compat::kNone && is_graph_replay(*rank.trace, tree, call);
    launches.push_back({is_replayed ? call : launcher_of(*rank.trace, tree, call), is_replayed, i});
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.launcher < b.launcher; });
  std::vector<Launcher> launchers;
  for (const Launch& launch : launches) {
    if (launchers.empty() || launch.is_replayed || launchers.back().node != launch.launcher) {
      launchers.push_back({launch.launcher, launch.is_replayed, {}, 0, 0});
    }
    launchers.back().kernels.push_back(tree.gpu_events[launch.position]);
  }
  for (Launcher& launcher : launchers) {
    launcher.direct_us = rank.busy_us(launcher.kernels);
    launcher.subtree_us = launcher.is_replayed ? launcher.direct_us
                                               : rank.busy_us(tree.gpu_events_below(launcher.node));
  }
  return launchers;
}

}  // namespace

// In compat mode the rounded ticks of `gpu_intervals` would differ from the recorded duration.
std::int64_t RankAnalysis::gpu_event_ns(std::size_t event) const {
  return options.compat == Compat::kNone ? gpu_intervals[event].length()
                                         : trace->gpu_events[event].duration_ns;
}

double RankAnalysis::gpu_event_us(std::size_t event) const {
  return static_cast<double>(gpu_event_ns(event)) / 1000;
}

double RankAnalysis::busy_us(std::span<const std::uint32_t> events) const {
  std::vector<Interval> busy;
  busy.reserve(events.size());
  for (const std::uint32_t event : events) {
    if (counted[event]) busy.push_back(gpu_intervals[event]);
  }
  if (busy.size() == 1) return time.microseconds(busy.front().length());
  return time.microseconds(covered_length(std::move(busy)));
}

std::vector<std::optional<std::int64_t>> step_numbers(const RankAnalysis& rank) {
  std::vector<std::optional<std::int64_t>> numbers(rank.counted.size());
  if (rank.steps.empty()) return numbers;
  const ProfilerSteps steps(*rank.trace);
  for (std::uint32_t event = 0; event < numbers.size(); ++event) {
    if (!rank.counted[event]) continue;
    if (const auto step = steps.find(deciding_time_ns(rank, steps, event)))
      numbers[event] = steps.number(*step);
  }
  return numbers;
}

RankAnalysis analyze_rank(const model::Trace& trace, const Options& options, int rank_number) {
  RankAnalysis rank;
  rank.trace = &trace;
  rank.options = options;
  rank.rank = rank_number;
  rank.warnings = trace.warnings;
  rank.time = TimeScale(trace, options.compat);
  rank.tree = build_call_tree(trace);
  if (options.detect_recompute) rank.passes = node_passes(trace, rank.tree);
  rank.gpu_work = classify_all(trace, options.compat);
  rank.gpu_intervals.reserve(trace.gpu_events.size());
  for (const model::GpuEvent& event : trace.gpu_events) {
    rank.gpu_intervals.push_back(rank.time.interval(event.start_ns, event.duration_ns));
  }
  const ProfilerSteps steps(trace);
  const bool corrects = options.compat == Compat::kNone;
  if (corrects) clip_overrunning_kernels(rank);
  count_by_link(rank);
  if (corrects) {
    leave_out_duplicates(rank);
    count_only_steps(rank, steps);
    account_for_lost_launches(rank, steps);
  }
  rank.launchers = find_launchers(rank);
  rank.total_time_us = rank.time.microseconds(timeline(busy_intervals(rank)).total);
  note_findings(rank, steps);
  return rank;
}

}  // namespace assay::trace
