// The gpu_timeline figures of one configuration, arranged for statistics.
//
// The unit of replication is the profiled step. The ranks of one step wait for each other, so
// they are no independent repetitions: a step's value is the mean over its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/configuration.h"

namespace assay::trace {

// One row of a rank's timeline. `step` is 0 when the figure is of the whole trace.
struct TimelineFigure {
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
SeriesByType mean_over_ranks(std::span<const TimelineFigure> figures);

// Each rank's own values, step after step.
std::map<int, SeriesByType> by_rank(std::span<const TimelineFigure> figures);

// total_time of the whole window (mean over ranks); NaN without timelines.
double whole_window_ms(std::span<const RankReport> ranks);

enum class Basis { kPerStep, kWholeTrace };

// Both sides on the same footing: per step when both name their steps, else the whole traces.
struct TimelinePair {
  Basis basis = Basis::kPerStep;
  std::vector<TimelineFigure> baseline;
  std::vector<TimelineFigure> test;
};

TimelinePair timeline_pair(const Sides& sides);

// Which way a timeline row should go. busy_time is neither: a GPU that is busy longer may do
// more, or wait less.
model::Better timeline_direction(const std::string& type);

// The types of both, in the order of reading: the total first, its parts, then the rest.
std::vector<std::string> reading_order(const SeriesByType& baseline, const SeriesByType& test);

}  // namespace assay::trace
