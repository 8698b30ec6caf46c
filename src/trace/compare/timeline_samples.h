// The gpu_timeline figures of one configuration, arranged for statistics.
//
// The ranks of one step wait for each other, so they are no independent repetitions: a step's
// value is the mean over its ranks. repetitions.h says when steps are repetitions, and when runs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/configuration.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {

// One row of a rank's timeline. `step` is 0 when the figure is of the whole trace.
struct TimelineFigure {
  int run = 0;  // as in RankReport
  int rank = 0;
  std::int64_t step = 0;
  std::string type;
  double time_ms = 0;
  double percent = 0;
};

inline constexpr const char* kTotalTime = "total_time";
// Rows with neither a time nor a percentage are left out.
std::vector<TimelineFigure> whole_trace_figures(std::span<const RankReport> ranks);
std::vector<TimelineFigure> step_figures(std::span<const RankReport> ranks);

// Parallel lists, one entry a repetition.
struct TimelineSeries {
  std::vector<double> time_ms;
  std::vector<double> percent;
};

using SeriesByType = std::map<std::string, TimelineSeries>;

// Each step's mean over ranks.
SeriesByType mean_over_ranks(std::span<const TimelineFigure> figures, Repetition repetition);

// Each rank's own values, step after step.
std::map<int, SeriesByType> by_rank(std::span<const TimelineFigure> figures, Repetition repetition);

// What a figure is of, and what repeats it.
struct Basis {
  enum class Window { kStep, kWholeTrace };
  Window window = Window::kStep;
  Repetition repetition = Repetition::kStep;
};

// Both sides on the same footing: per step when both name their steps, else the whole traces.
struct TimelinePair {
  Basis basis;
  std::vector<TimelineFigure> baseline;
  std::vector<TimelineFigure> test;
};

TimelinePair timeline_pair(const Sides& sides);

// From the start of the first step to the end of the last, means over ranks.
TimelinePair whole_trace_pair(const Sides& sides);

// Which way a timeline row should go. busy_time is neither: a GPU that is busy longer may do
// more, or wait less.
model::Better timeline_direction(const std::string& type);

// Whether it is one of the types that add up to kTotalTime.
bool is_part(const std::string& type);

// The types of both, in the order of reading: the total first, its parts, then the rest.
std::vector<std::string> reading_order(const SeriesByType& baseline, const SeriesByType& test);

}  // namespace assay::trace
