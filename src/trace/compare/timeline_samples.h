// The gpu_timeline figures of one configuration, arranged for statistics.
//
// The ranks of one step wait for each other, so they are not independent repetitions: the value of
// a step is the mean over its ranks. repetitions.h says when steps are the repetitions and when
// runs are.
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

// One row of a rank's timeline. `step` is 0 when the figure covers the whole trace.
struct TimelineFigure {
  int run = 0;  // as in RankReport
  int rank = 0;
  std::int64_t step = 0;
  std::string type;
  double time_ms = 0;
  double percent = 0;
};

inline constexpr const char* kTotalTime = "total_time";
// Skip rows with neither a time nor a percentage.
std::vector<TimelineFigure> whole_trace_figures(std::span<const RankReport> ranks);
std::vector<TimelineFigure> step_figures(std::span<const RankReport> ranks);

// Parallel lists with one entry for each repetition.
struct TimelineSeries {
  std::vector<double> time_ms;
  std::vector<double> percent;
};

using SeriesByType = std::map<std::string, TimelineSeries>;

// Returns the mean over ranks of each step.
SeriesByType mean_over_ranks(std::span<const TimelineFigure> figures, Repetition repetition);

// Returns the values of each rank, step by step.
std::map<int, SeriesByType> by_rank(std::span<const TimelineFigure> figures, Repetition repetition);

// What a figure covers, and what its repetitions are.
struct Basis {
  enum class Window { kStep, kWholeTrace };
  Window window = Window::kStep;
  Repetition repetition = Repetition::kStep;
};

// Both sides on the same basis: per step when both name their steps, otherwise whole traces.
struct TimelinePair {
  Basis basis;
  std::vector<TimelineFigure> baseline;
  std::vector<TimelineFigure> test;
};

TimelinePair timeline_pair(const Sides& sides);

// Returns means over ranks, from the start of the first step to the end of the last.
TimelinePair whole_trace_pair(const Sides& sides);

// Returns the better direction of a timeline row. busy_time has none: a GPU that is busy longer may
// do more work or wait less.
model::Better timeline_direction(const std::string& type);

// Returns whether `type` is one of the parts that add up to kTotalTime.
bool is_part(const std::string& type);

// Returns the types of both sides: the total first, then its parts, then the rest.
std::vector<std::string> reading_order(const SeriesByType& baseline, const SeriesByType& test);

}  // namespace assay::trace
