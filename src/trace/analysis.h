// One rank's trace, prepared once for every sheet: the call tree, which GPU work counts, the
// profiled steps, and the launching operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/trace.h"
#include "trace/call_tree.h"
#include "trace/inference_steps.h"
#include "trace/interval.h"
#include "trace/options.h"
#include "trace/recompute.h"
#include "trace/unlinked_work.h"

namespace assay::trace {

enum class GpuWork : std::uint8_t { kComputation, kCommunication, kMemcpy };

// A profiled step (ProfilerStep#N or, without those, a run of a model that a serving engine
// annotates) as it ran on the GPU. It lasts from the first GPU work that it
// launched to the first GPU work of the next step, the last step to the end of all work that the
// steps launched. So the steps add up to the time that every other figure covers, and prefetched
// work belongs to the step that launched it.
struct Step {
  std::int64_t number = 0;
  Interval window;
  std::int64_t work_end = 0;  // of the work that it launched: before or after the end of `window`
  std::optional<ServingLabel> label = std::nullopt;  // of a run that a serving engine annotates
  bool may_hold_next = false;  // the next step has neither launch records nor a range on the GPU
};

struct KernelTally {
  std::int64_t kernels = 0;
  std::int64_t ticks = 0;  // summed durations
};

// GPU work that the figures leave out.
struct Excluded {
  KernelTally leaked;   // launched before the profile began: no recorded call launched them
  KernelTally outside;  // launched during the profile, but not during a profiled step
};

// An operator that launches GPU work itself (see launcher_of). Communication kernels are left out.
// Each kernel that a graph replays is a launcher of its own, except in compat mode, since the
// replay as a whole says nothing of what ran.
struct Launcher {
  NodeId node = kNoNode;
  bool is_replayed = false;            // one kernel of a graph, replayed by `node`
  std::vector<std::uint32_t> kernels;  // indices into Trace::gpu_events, in launch order
  double direct_us = 0;                // length of the union of its own kernels
  double subtree_us = 0;               // length of the union of all GPU work below it
};

struct RankAnalysis {
  const model::Trace* trace = nullptr;
  Options options;
  int rank = 0;
  TimeScale time;
  CallTree tree;
  std::vector<Interval> gpu_intervals;  // for each GPU event
  std::vector<GpuWork> gpu_work;        // for each GPU event
  // For each GPU event: part of the figures. All figures cover the time from the start of the first
  // to the end of the last of these.
  std::vector<bool> counted;
  std::vector<UnlinkedWork> unlinked;  // by event; counts unless it leaked
  std::vector<Step> steps;             // by start; empty when the trace names none
  std::vector<Pass> passes;            // for each node; empty unless Options::detect_recompute
  Excluded excluded;
  model::Warnings warnings;         // those of the trace, then those of the analysis
  std::vector<Launcher> launchers;  // in node order
  double total_time_us = 0;         // gpu_timeline's total_time

  // Length of a GPU event in microseconds: as recorded, or less where its end is corrupt.
  [[nodiscard]] std::int64_t gpu_event_ns(std::size_t event) const;
  [[nodiscard]] double gpu_event_us(std::size_t event) const;

  // Returns whether a node computes a checkpointed forward pass again. false unless
  // Options::detect_recompute.
  [[nodiscard]] bool recomputes(NodeId node) const {
    return !passes.empty() && passes[node] == Pass::kRecompute;
  }

  // Length of the union of the counted GPU events among `events`, in microseconds.
  [[nodiscard]] double busy_us(std::span<const std::uint32_t> events) const;
};

// Returns for each GPU event the number of the step that it belongs to; std::nullopt for work that
// does not count, and where the trace names no steps.
std::vector<std::optional<std::int64_t>> step_numbers(const RankAnalysis& rank);

// `trace` must outlive the analysis.
RankAnalysis analyze_rank(const model::Trace& trace, const Options& options, int rank);

}  // namespace assay::trace
