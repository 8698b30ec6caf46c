// The gpu_timeline figures of one configuration, arranged for statistics.
//
// The ranks of one step wait for each other, so they are not independent repetitions: the value of
// a step is the mean over its ranks. repetitions.h says when steps are the repetitions and when
// runs are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// A step's time. In a comparison of steps it is the steady period: the mean period of the steps
// that step_states() calls steady; the other rows are of the same steps. See step_periods.h.
inline constexpr const char* kTotalTime = "total_time";
// The lengths of all profiled steps as gpu_timeline_steps has them, transient ones included: their
// mean is that of the profiled window.
inline constexpr const char* kAllSteps = "total_time_all_steps";

// Returns the number of the step in a row; std::nullopt for damaged ones.
std::optional<std::int64_t> step_number(const model::Table& table, std::size_t row);

// Skip rows with neither a time nor a percentage.
std::vector<TimelineFigure> whole_trace_figures(std::span<const RankReport> ranks);
std::vector<TimelineFigure> step_figures(std::span<const RankReport> ranks);

// Returns the figures of the steady steps over their periods, and kAllSteps.
std::vector<TimelineFigure> steady_figures(const Configuration& configuration);

// Parallel lists with one entry for each repetition.
struct TimelineSeries {
  std::vector<double> time_ms;
  std::vector<double> percent;
};

using SeriesByType = std::map<std::string, TimelineSeries>;

// Returns the mean over repetitions; NaN where there are none.
double mean_ms(const SeriesByType& series, const std::string& type);

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

// Returns the better direction of a timeline row. busy_time and the idle times have none: a GPU
// that is busy longer may do more work or wait less, and one that is idle for less may have waited
// for others in a collective instead.
model::Better timeline_direction(const std::string& type);

// Returns whether `type` is one of the parts that add up to kTotalTime.
bool is_part(const std::string& type);

// Returns the types of both sides: the total first, then its parts, then the rest.
std::vector<std::string> reading_order(const SeriesByType& baseline, const SeriesByType& test);

}  // namespace assay::trace
