#include "trace/step_periods.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/statistics.h"

namespace assay::trace {
namespace {

// Where the wait of some GPU work began and ended, in ticks. Clocks may put the start before the
// launch.
Interval wait_of(const RankAnalysis& rank, std::size_t event) {
  const std::int64_t start = rank.gpu_intervals[event].start;
  const NodeId call = rank.tree.launched_by[event];
  if (call == kNoNode) return {start, start};
  const std::int64_t called_ns = node_start_ns(*rank.trace, rank.tree.nodes[call]);
  return {std::min(rank.time.interval(called_ns, 0).start, start), start};
}

// Returns what usually lies between the work of a step and that of the next, negative where they
// overlap. There must be two steps.
std::int64_t usual_wait(const std::vector<Step>& steps) {
  std::vector<double> waits;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    waits.push_back(static_cast<double>(steps[i + 1].window.start - steps[i].work_end));
  return std::llround(core::median(waits));
}

std::vector<StepPeriod> measured_periods(const std::vector<Step>& steps) {
  std::vector<StepPeriod> periods;
  for (const Step& step : steps)
    periods.push_back({.number = step.number, .period = step.window});
  StepPeriod& last = periods.back();
  const Step& step = steps.back();
  last.end = steps.size() > 1 ? PeriodEnd::kCompleted : PeriodEnd::kOwnWork;
  last.period.end = step.work_end;
  if (steps.size() > 1) last.period.end += usual_wait(steps);
  last.period.end = std::max(last.period.end, last.period.start + 1);
  return periods;
}

// Sets the time before each step in which no GPU work of any kind ran.
void measure_waits(const RankAnalysis& rank, std::vector<StepPeriod>& periods) {
  // For each step: the end of the work that starts before it, but not before the step before it.
  std::vector<std::optional<std::int64_t>> ends(periods.size());
  for (const Interval& work : rank.gpu_intervals) {
    if (work.length() == 0) continue;
    const auto next = std::upper_bound(
        periods.begin(), periods.end(), work.start,
        [](std::int64_t at, const StepPeriod& step) { return at < step.period.start; });
    if (next == periods.end()) continue;
    std::optional<std::int64_t>& end = ends[static_cast<std::size_t>(next - periods.begin())];
    end = std::max(end.value_or(work.end), work.end);
  }
  std::optional<std::int64_t> before;
  for (std::size_t i = 0; i < periods.size(); ++i) {
    if (ends[i]) before = std::max(before.value_or(*ends[i]), *ends[i]);
    if (before) periods[i].wait_ns = std::max<std::int64_t>(periods[i].period.start - *before, 0);
  }
}

std::vector<Interval> idle_in(const BusyIntervals& busy, const Interval& period) {
  const std::span<const Interval> bounds(&period, 1);
  return difference(bounds, busy.all);
}

// Collects the waits of all work, step by step.
class Launches {
 public:
  explicit Launches(std::vector<StepPeriod>& periods)
      : periods_(periods), delays_(periods.size()), waited_(periods.size()) {}

  void add(const Interval& wait) {
    if (wait.length() > 0) waits_.push_back(wait);
    for (std::size_t i = first_touched(wait.start); i < periods_.size(); ++i) {
      const Interval& period = periods_[i].period;
      if (period.start > wait.end) break;
      waited_[i] += std::max<std::int64_t>(
          std::min(wait.end, period.end) - std::max(wait.start, period.start), 0);
      if (wait.end >= period.start && wait.end < period.end)
        delays_[i].push_back(static_cast<double>(wait.length()));
    }
  }

  void finish(const BusyIntervals& busy) {
    const std::vector<Interval> waits = merged(std::move(waits_));
    for (std::size_t i = 0; i < periods_.size(); ++i) {
      StepPeriod& step = periods_[i];
      step.launches = {.delay_ns = core::median(delays_[i]),
                       .queue_length = static_cast<double>(waited_[i]) /
                                       static_cast<double>(step.period.length()),
                       .host_ns = total_length(difference(idle_in(busy, step.period), waits))};
    }
  }

 private:
  // Returns the first period that ends after this time.
  [[nodiscard]] std::size_t first_touched(std::int64_t time) const {
    const auto found = std::upper_bound(
        periods_.begin(), periods_.end(), time,
        [](std::int64_t at, const StepPeriod& step) { return at < step.period.end; });
    return static_cast<std::size_t>(found - periods_.begin());
  }

  std::vector<StepPeriod>& periods_;
  std::vector<std::vector<double>> delays_;
  std::vector<std::int64_t> waited_;
  std::vector<Interval> waits_;
};

}  // namespace

std::vector<Interval> period_intervals(const std::vector<Step>& steps) {
  if (steps.empty()) return {};
  std::vector<Interval> intervals;
  for (const StepPeriod& step : measured_periods(steps))
    intervals.push_back(step.period);
  return intervals;
}

std::vector<StepPeriod> step_periods(const RankAnalysis& rank, const BusyIntervals& busy) {
  if (rank.steps.empty()) return {};
  std::vector<StepPeriod> periods = measured_periods(rank.steps);
  measure_waits(rank, periods);
  Launches launches(periods);
  for (std::size_t event = 0; event < rank.counted.size(); ++event)
    if (rank.counted[event]) launches.add(wait_of(rank, event));
  launches.finish(busy);
  for (StepPeriod& step : periods)
    step.times = timeline(busy, step.period);
  return periods;
}

}  // namespace assay::trace
