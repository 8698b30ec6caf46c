// The periods of the profiled steps, and the launches behind them.
//
// A step's period lasts from its first GPU work to that of the next step, so it holds the wait
// between them. The last step has no next one in the trace: what the trace shows of its period, its
// own work, is too short by that wait, or too long where the work of steps overlaps. Its period is
// completed by the median of what lies between the work of the steps before and their successors.
// Its launch figures lack the launches of the step that would follow, which shorten the host's turn
// and lengthen the queue. They are completed by the median of what the launches of later steps
// change in the periods before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/analysis.h"
#include "trace/timeline.h"

namespace assay::trace {

// How the GPU work that ran in a period was launched. Work waits from the start of the call that
// launched it to its own start; work without a launch record has no known wait.
struct LaunchFigures {
  bool are_known = true;     // false: the trace has no launch record of what ran in the period
  double delay_ns = 0;       // median wait; NaN where nothing started
  double queue_length = 0;   // mean number of waiting kernels, copies and fills
  std::int64_t host_ns = 0;  // the GPU was idle and nothing waited: it was the host's turn
};

enum class PeriodEnd : std::uint8_t {
  kNextStep,   // measured
  kCompleted,  // the last step of several
  kOwnWork,    // the only step
  kLaterStep,  // the next step lost its launch records, and its work may be in this one
};

struct StepPeriod {
  std::int64_t number = 0;
  Interval period;
  PeriodEnd end = PeriodEnd::kNextStep;
  Timeline times = {};
  LaunchFigures launches = {};
  // Time without any GPU work before the step's first; std::nullopt: the trace has no work before.
  std::optional<std::int64_t> wait_ns = std::nullopt;
  std::int64_t events = 0;  // kernels, copies and fills of the step
};

// Returns the period of each step, in order. `steps` must be sorted by start.
std::vector<Interval> period_intervals(const std::vector<Step>& steps);

// Returns the steps by start.
std::vector<StepPeriod> step_periods(const RankAnalysis& rank, const BusyIntervals& busy);

}  // namespace assay::trace
