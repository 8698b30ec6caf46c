// The profiled steps: which calls belong to them and when they ran on the GPU.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "trace/analysis.h"

namespace assay::trace {

// N of "ProfilerStep#N".
std::optional<std::int64_t> profiler_step_number(std::string_view annotation);

// CPU time from the first step's start to the last step's end, in nanoseconds: work launched in
// it belongs to the steps. Nothing when the trace names no step.
std::optional<Interval> profiled_cpu_window_ns(const model::Trace& trace);

// Steps that begin within the one before or have its number: then their figures are doubtful.
std::int64_t overlapping_steps(const model::Trace& trace);

// The steps as they ran on the GPU, by start. Needs tree, time, gpu_intervals and counted of the
// analysis.
std::vector<Step> gpu_steps(const RankAnalysis& rank);

// See RankAnalysis::window. Needs `steps` too.
std::optional<Interval> profiled_gpu_window(const RankAnalysis& rank);

}  // namespace assay::trace
