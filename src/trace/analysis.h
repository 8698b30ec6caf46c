// One rank's trace, prepared once for every sheet: the call tree, which GPU work counts, the
// profiled steps, and the launching operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/trace.h"
#include "trace/call_tree.h"
#include "trace/interval.h"
#include "trace/options.h"
#include "trace/time_scale.h"

namespace assay::trace {

enum class GpuWork : std::uint8_t { kComputation, kCommunication, kMemcpy };

// A profiled step as it ran on the GPU: from the first GPU work that ProfilerStep#N launched to
// the first of the next step; the last step ends with its own work, or on the CPU if that is
// later. So steps are whole, alike, and leave no time out; prefetched work belongs to the step
// that launched it.
struct Step {
  std::int64_t number = 0;
  Interval window;
};

struct KernelTally {
  std::int64_t kernels = 0;
  std::int64_t ticks = 0;  // summed durations
};

// Work on the GPU that is not, or not wholly, part of the figures.
struct Excluded {
  KernelTally leaked;   // no recorded call launched them: they are from before the profile
  KernelTally outside;  // launched by a recorded call, but not during a profiled step
  KernelTally clipped;  // of the steps, but running outside their GPU window: the part cut off
};

// An operator that launches GPU work itself: the nearest CPU operator above the launching call,
// or that call where there is none (graph launches). Communication kernels are left out.
struct Launcher {
  NodeId node = kNoNode;
  std::vector<std::uint32_t> kernels;  // indices into Trace::gpu_events, in launch order
  double direct_us = 0;                // union of its own kernels
  double subtree_us = 0;               // union of all GPU work below it
};

struct RankAnalysis {
  const model::Trace* trace = nullptr;
  Options options;
  int rank = 0;
  TimeScale time;
  CallTree tree;
  std::vector<Interval> gpu_intervals;  // for each GPU event
  std::vector<GpuWork> gpu_work;        // for each GPU event
  std::vector<bool> counted;            // for each GPU event: part of the figures
  std::vector<Step> steps;              // by start; empty when the trace names none
  // What the figures are clipped to: from the start of the first to the end of the last
  // ProfilerStep#N that the trace annotates on the GPU; without those, the steps.
  std::optional<Interval> window;
  Excluded excluded;
  model::Warnings warnings;         // of the trace, and of what the analysis found
  std::vector<Launcher> launchers;  // in node order
  double total_time_us = 0;         // gpu_timeline's total_time

  // Union of the counted GPU events among `events`, in microseconds.
  [[nodiscard]] double busy_us(std::span<const std::uint32_t> events) const;
};

// `trace` must outlive the analysis.
RankAnalysis analyze_rank(const model::Trace& trace, const Options& options, int rank);

// "rccl", "nccl" or "cross_device_reduce" in the name, ignoring case.
bool is_communication_kernel(std::string_view name);

}  // namespace assay::trace
