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

// A profiled step: the GPU-side window of ProfilerStep#N.
struct Step {
  std::int64_t number = 0;
  Interval window;
};

// Work that ran but is not part of the profiled steps, so is not counted.
struct Excluded {
  std::int64_t leaked_kernels = 0;   // no recorded call launched them: from before the profile
  std::int64_t leaked_ticks = 0;     // their summed durations
  std::int64_t outside_kernels = 0;  // launched, but started outside the profiled steps
  std::int64_t outside_ticks = 0;
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
  std::optional<Interval> window;       // first step's start to last step's end
  Excluded excluded;
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
