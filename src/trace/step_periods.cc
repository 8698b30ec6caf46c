#include "trace/step_periods.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/statistics.h"

namespace assay::trace {
namespace {

// Where the wait of launched GPU work began and ended, in ticks. Clocks may put the start before
// the launch.
Interval wait_of(const RankAnalysis& rank, std::size_t event) {
  const std::int64_t start = rank.gpu_intervals[event].start;
  const NodeId call = rank.tree.launched_by[event];
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
    periods.push_back({.number = step.number,
                       .period = step.window,
                       .end = step.may_hold_next ? PeriodEnd::kLaterStep : PeriodEnd::kNextStep});
  StepPeriod& last = periods.back();
  const Step& step = steps.back();
  if (!step.may_hold_next)
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
      : periods_(periods), collected_(periods.size()) {}

  // Adds the wait of work that the step at this position launched.
  void add(const Interval& wait, std::size_t step) {
    if (wait.length() > 0) waits_.push_back(wait);
    for (std::size_t i = first_touched(wait.start); i < periods_.size(); ++i) {
      const Interval& period = periods_[i].period;
      if (period.start > wait.end) break;
      Collected& collected = collected_[i];
      const std::int64_t shared = std::max<std::int64_t>(
          std::min(wait.end, period.end) - std::max(wait.start, period.start), 0);
      (step > i ? collected.waited_later : collected.waited_so_far) += shared;
      if (step <= i && wait.length() > 0) collected.so_far.push_back(wait);
      if (wait.end >= period.start && wait.end < period.end)
        collected.delays.push_back(static_cast<double>(wait.length()));
    }
  }

  void finish(const BusyIntervals& busy) {
    const std::vector<Interval> waits = merged(std::move(waits_));
    std::vector<double> waited_later;
    std::vector<double> turns_taken;
    for (std::size_t i = 0; i < periods_.size(); ++i) {
      Collected& collected = collected_[i];
      const std::vector<Interval> idle = idle_in(busy, periods_[i].period);
      const std::int64_t host_ns = total_length(difference(idle, waits));
      const std::vector<Interval> so_far = merged(std::move(collected.so_far));
      waited_later.push_back(static_cast<double>(collected.waited_later));
      turns_taken.push_back(static_cast<double>(total_length(difference(idle, so_far)) - host_ns));
      set_figures(i, collected.waited_so_far + collected.waited_later, host_ns);
    }
    if (periods_.back().end == PeriodEnd::kCompleted)
      complete_last(std::move(waited_later), std::move(turns_taken));
  }

 private:
  // In a period. "So far" is what was launched by its step and those before it.
  struct Collected {
    std::vector<double> delays;
    std::vector<Interval> so_far;
    std::int64_t waited_so_far = 0;
    std::int64_t waited_later = 0;
  };

  void set_figures(std::size_t position, std::int64_t waited, std::int64_t host_ns) {
    StepPeriod& step = periods_[position];
    step.launches = {
        .are_known = waited > 0 || !collected_[position].delays.empty(),
        .delay_ns = core::median(collected_[position].delays),
        .queue_length = static_cast<double>(waited) / static_cast<double>(step.period.length()),
        .host_ns = host_ns};
  }

  // Gives the last step what the launches of later steps changed in the periods before it: by how
  // much they waited, and how much of the host's turn they took.
  void complete_last(std::vector<double> waited_later, std::vector<double> turns_taken) {
    waited_later.pop_back();
    turns_taken.pop_back();
    StepPeriod& last = periods_.back();
    last.launches.queue_length +=
        core::median(waited_later) / static_cast<double>(last.period.length());
    last.launches.host_ns =
        std::max<std::int64_t>(last.launches.host_ns - std::llround(core::median(turns_taken)), 0);
  }

  // Returns the first period that ends after this time.
  [[nodiscard]] std::size_t first_touched(std::int64_t time) const {
    const auto found = std::upper_bound(
        periods_.begin(), periods_.end(), time,
        [](std::int64_t at, const StepPeriod& step) { return at < step.period.end; });
    return static_cast<std::size_t>(found - periods_.begin());
  }

  std::vector<StepPeriod>& periods_;
  std::vector<Collected> collected_;
  std::vector<Interval> waits_;
};

using Positions = std::vector<std::optional<std::size_t>>;

// Returns for each GPU event the position of its step; std::nullopt for what does not count.
Positions positions_of(const RankAnalysis& rank) {
  std::map<std::int64_t, std::size_t> positions;
  for (std::size_t i = 0; i < rank.steps.size(); ++i)
    positions[rank.steps[i].number] = i;
  Positions result;
  for (const std::optional<std::int64_t>& number : step_numbers(rank)) {
    const auto found = number ? positions.find(*number) : positions.end();
    result.push_back(found == positions.end() ? std::nullopt : std::optional(found->second));
  }
  return result;
}

void add_launches(const RankAnalysis& rank, const Positions& positions, Launches& launches) {
  for (std::size_t event = 0; event < rank.counted.size(); ++event)
    if (rank.counted[event] && rank.tree.launched_by[event] != kNoNode)
      launches.add(wait_of(rank, event), positions[event].value_or(0));
}

void count_events(const Positions& positions, std::vector<StepPeriod>& periods) {
  for (const std::optional<std::size_t>& position : positions)
    if (position) ++periods[*position].events;
}

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
  const Positions positions = positions_of(rank);
  add_launches(rank, positions, launches);
  launches.finish(busy);
  count_events(positions, periods);
  for (StepPeriod& step : periods)
    step.times = timeline(busy, step.period);
  return periods;
}

}  // namespace assay::trace
