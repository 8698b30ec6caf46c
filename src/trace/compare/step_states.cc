#include "trace/compare/step_states.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/statistics.h"
#include "trace/compare/cut_steps.h"
#include "trace/compare/rows.h"
#include "trace/compare/timeline_samples.h"
#include "trace/sheets/steps_table.h"
#include "trace/steady.h"

namespace assay::trace {
namespace {

using StepsOfRank = std::vector<const RankStep*>;

// Returns NaN for what is no finite number, as in damaged reports.
double finite_at(const model::Table& table, std::size_t row, std::string_view column) {
  const double value = number_at(table, row, column);
  return std::isfinite(value) ? value : kNaN;
}

std::optional<RankStep> rank_step(const RankReport& report,
                                  const model::Table& table,
                                  std::size_t row) {
  const auto number = step_number(table, row);
  const double period = finite_at(table, row, kPeriodColumn);
  if (!number || std::isnan(period)) return std::nullopt;
  const auto end = table.column(kEndColumn);
  const bool holds_next = end && model::text(table.at(row, *end)) == kHoldsNext;
  return RankStep{.run = report.run,
                  .rank = report.rank,
                  .step = *number,
                  .period_ms = period,
                  .host_ms = finite_at(table, row, kHostColumn),
                  .wait_ms = finite_at(table, row, kWaitColumn),
                  .delay_us = finite_at(table, row, kDelayColumn),
                  .queue_length = finite_at(table, row, kQueueColumn),
                  .comm_ms = finite_at(table, row, "total_comm_time ms"),
                  .compute_ms = finite_at(table, row, "computation_time ms"),
                  .events = finite_at(table, row, kEventsColumn),
                  .is_whole = !holds_next};
}

// One run: its steps by number, each with its ranks.
using Run = std::map<std::int64_t, StepsOfRank>;

// Returns the shared steps, of each rank that has them whole.
std::map<int, Run> runs_of(std::span<const RankStep> steps) {
  const StepSet shared = shared_steps(steps);
  std::map<int, Run> runs;
  for (const RankStep& step : steps)
    if (step.is_whole && shared.count({step.run, step.step}) > 0)
      runs[step.run][step.step].push_back(&step);
  return runs;
}

double mean_of(const StepsOfRank& ranks, double RankStep::*value) {
  std::vector<double> values;
  for (const RankStep* rank : ranks)
    if (!std::isnan(rank->*value)) values.push_back(rank->*value);
  return core::mean(values);
}

// The values of one rank, step by step; NaN where the rank lacks a step.
std::map<int, std::vector<double>> by_rank_of(const Run& run, double RankStep::*value) {
  std::map<int, std::vector<double>> ranks;
  std::size_t position = 0;
  for (const auto& [number, steps] : run) {
    for (const RankStep* step : steps)
      ranks.try_emplace(step->rank, run.size(), kNaN).first->second[position] = step->*value;
    ++position;
  }
  return ranks;
}

bool has_nan(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

// Marks the steps that a rank's wait for its host makes transient.
void mark_host_bound(const Run& run,
                     const std::vector<double>& periods,
                     std::vector<bool>& steady) {
  const double center = core::median(periods);
  const double least = kTransientPercent / 100 * center;
  for (const auto& [rank, waits] : by_rank_of(run, &RankStep::host_ms)) {
    if (has_nan(waits)) continue;
    const double usual = core::median(waits);
    const std::vector<bool> usual_waits = find_steady(waits);
    for (std::size_t i = 0; i < steady.size(); ++i) {
      const double differs = periods[i] - center;
      const double waited = waits[i] - usual;
      if (!usual_waits[i] && std::fabs(differs) > least && std::fabs(waited) > least &&
          (differs > 0) == (waited > 0))
        steady[i] = false;
    }
  }
}

// Most of the steps have to be steady. Where those that waited for their host are more, there is no
// steady state to tell them from.
std::vector<bool> steady_of(const Run& run, const std::vector<double>& periods) {
  const std::vector<bool> by_period = find_steady(periods);
  std::vector<bool> steady = by_period;
  if (periods.size() < kFewestForTransients) return steady;
  mark_host_bound(run, periods, steady);
  const auto kept = static_cast<std::size_t>(std::count(steady.begin(), steady.end(), true));
  return 2 * kept > steady.size() ? steady : by_period;
}

// By how much each rank's value in a step is above its mean over the steady steps.
std::map<int, double> excess(const Run& run,
                             double RankStep::*value,
                             std::size_t step,
                             const std::vector<bool>& steady) {
  std::map<int, double> result;
  for (const auto& [rank, values] : by_rank_of(run, value)) {
    std::vector<double> usual;
    for (std::size_t i = 0; i < steady.size(); ++i)
      if (steady[i]) usual.push_back(values[i]);
    const double difference = values[step] - core::mean(usual);
    if (!std::isnan(difference)) result[rank] = difference;
  }
  return result;
}

using RankValue = std::pair<const int, double>;

void explain_by_host(const std::map<int, double>& waits, double differs, StepState& state) {
  const auto most =
      std::max_element(waits.begin(), waits.end(), [](const RankValue& a, const RankValue& b) {
        return std::fabs(a.second) < std::fabs(b.second);
      });
  if (most == waits.end() || most->second * differs <= 0 ||
      std::fabs(most->second) < std::fabs(differs) / 2)
    return;
  state.cause = Cause::kHost;
  state.rank = most->first;
  state.ms = most->second;
}

// The rank that arrives last waits least, while the others wait for it.
void explain_by_straggler(const std::map<int, double>& comm, double differs, StepState& state) {
  if (comm.size() < 2 || differs <= 0) return;
  const auto last =
      std::min_element(comm.begin(), comm.end(),
                       [](const RankValue& a, const RankValue& b) { return a.second < b.second; });
  std::vector<double> others;
  for (const auto& [rank, value] : comm)
    if (rank != last->first) others.push_back(value);
  const double waited = core::median(others) - last->second;
  if (waited < differs / 2) return;
  state.cause = Cause::kStraggler;
  state.rank = last->first;
  state.ms = waited;
}

void explain_by_compute(const std::map<int, double>& computed, double differs, StepState& state) {
  if (computed.empty()) return;
  std::vector<std::pair<double, int>> sorted;
  for (const auto& [rank, value] : computed)
    sorted.emplace_back(value, rank);
  std::sort(sorted.begin(), sorted.end());
  const auto [middle, rank] = sorted[sorted.size() / 2];
  if (middle * differs <= 0 || std::fabs(middle) < std::fabs(differs) / 2) return;
  state.cause = Cause::kCompute;
  state.rank = rank;
  state.ms = middle;
}

void explain_by_place(const StepsOfRank& ranks, StepState& state) {
  if (!state.is_first) return;
  const double wait = mean_of(ranks, &RankStep::wait_ms);
  state.cause = Cause::kFirst;
  if (!(wait > kTransientPercent / 100 * state.steady_ms)) return;
  state.cause = Cause::kWait;
  state.ms = wait;
}

double mean_where(const std::vector<double>& values, const std::vector<bool>& chosen) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (chosen[i]) kept.push_back(values[i]);
  return core::mean(kept);
}

void explain(const Run& run,
             const StepsOfRank& ranks,
             std::size_t position,
             const std::vector<bool>& steady,
             StepState& state) {
  const double differs = state.period_ms - state.steady_ms;
  explain_by_compute(excess(run, &RankStep::compute_ms, position, steady), differs, state);
  explain_by_place(ranks, state);
  explain_by_straggler(excess(run, &RankStep::comm_ms, position, steady), differs, state);
  explain_by_host(excess(run, &RankStep::host_ms, position, steady), differs, state);
}

std::vector<double> periods_of(const Run& run) {
  std::vector<double> periods;
  for (const auto& [step, ranks] : run)
    periods.push_back(mean_of(ranks, &RankStep::period_ms));
  return periods;
}

// Returns the states of a run where these of its steps are steady.
std::vector<StepState> states_of(int number, const Run& run, const std::vector<bool>& steady) {
  const std::vector<double> periods = periods_of(run);
  const double steady_ms = mean_where(periods, steady);
  std::vector<StepState> states;
  std::size_t i = 0;
  for (const auto& [step, ranks] : run) {
    StepState state{.run = number,
                    .step = step,
                    .period_ms = periods[i],
                    .is_first = i == 0,
                    .is_steady = steady[i],
                    .steady_ms = steady_ms};
    if (!state.is_steady) explain(run, ranks, i, steady, state);
    states.push_back(state);
    ++i;
  }
  return states;
}

// The time that ranks compute is part of the period, and no evidence beside it.
bool tells_no_exception(Cause cause) {
  return cause == Cause::kNone || cause == Cause::kCompute;
}

std::vector<StepState> run_states(int number, const Run& run) {
  std::vector<bool> steady = steady_of(run, periods_of(run));
  std::vector<StepState> states = states_of(number, run, steady);
  if (run.size() >= kFewestWithoutCause) return states;
  for (std::size_t i = 1; i < states.size(); ++i)
    if (tells_no_exception(states[i].cause)) steady[i] = true;
  return states_of(number, run, steady);
}

using StatesByRun = std::map<int, std::vector<StepState>>;

StatesByRun usual_states(const std::map<int, Run>& runs) {
  StatesByRun states;
  for (const auto& [number, run] : runs)
    states.emplace(number, run_states(number, run));
  return states;
}

// Returns how many steps are transient at the beginning of a run.
std::size_t transients_at_begin(const std::vector<StepState>& run) {
  const auto steady =
      std::find_if(run.begin(), run.end(), [](const StepState& state) { return state.is_steady; });
  return static_cast<std::size_t>(steady - run.begin());
}

bool has_modes(const StatesByRun& states) {
  constexpr std::size_t kFewest = 2;
  std::size_t others = 0;
  std::size_t all = 0;
  for (const auto& [number, run] : states) {
    const std::size_t first = transients_at_begin(run);
    all += run.size() - first;
    others += static_cast<std::size_t>(
        std::count_if(run.begin() + static_cast<std::ptrdiff_t>(first), run.end(),
                      [](const StepState& state) { return !state.is_steady; }));
  }
  return others >= kFewest &&
         static_cast<double>(others) > kMostTransientPercent / 100 * static_cast<double>(all);
}

// Returns by which part of it a run's longest steady step is longer than its shortest.
double spread_of(const std::vector<StepState>& run) {
  std::vector<double> periods;
  for (const StepState& state : run)
    if (state.is_steady) periods.push_back(state.period_ms);
  const auto [least, most] = std::minmax_element(periods.begin(), periods.end());
  return (*most - *least) / *least;
}

// Returns whether steady steps of `other` are about as far apart as most transient steps, not at
// the begin of their run, are from the steady ones. Noise makes either distance somewhat different.
bool reach(const StatesByRun& runs, const StatesByRun& other) {
  constexpr double kAbout = 0.75;
  double farthest = 0;
  for (const auto& [number, run] : other)
    farthest = std::max(farthest, spread_of(run));
  std::size_t all = 0;
  std::size_t reached = 0;
  for (const auto& [number, run] : runs) {
    for (std::size_t i = transients_at_begin(run); i < run.size(); ++i) {
      if (run[i].is_steady) continue;
      ++all;
      reached += kAbout * std::fabs(run[i].period_ms / run[i].steady_ms - 1) <= farthest ? 1 : 0;
    }
  }
  return 2 * reached > all;
}

// Returns the states of a run of which steps of all modes are steady.
std::vector<StepState> states_of_all_modes(int number,
                                           const Run& run,
                                           const std::vector<StepState>& usual) {
  const std::vector<double> periods = periods_of(run);
  const auto first = static_cast<std::ptrdiff_t>(transients_at_begin(usual));
  const auto [least, most] = std::minmax_element(periods.begin() + first, periods.end());
  const double margin = kTransientPercent / 100 * core::median(periods);
  std::vector<bool> steady(run.size(), true);
  for (std::size_t i = 0; i < static_cast<std::size_t>(first); ++i)
    steady[i] = periods[i] >= *least - margin && periods[i] <= *most + margin;
  std::vector<StepState> states = states_of(number, run, steady);
  for (std::size_t i = static_cast<std::size_t>(first); i < states.size(); ++i)
    states[i].is_of_other_mode = !usual[i].is_steady;
  return states;
}

// Returns by how much longer the other ranks communicate than this one in the steady steps of its
// run (median over ranks); 0 where they do not, or where nothing is known.
double others_waiting(const std::map<std::pair<int, int>, StepsOfRank>& ranks,
                      const std::pair<int, int>& of) {
  std::vector<double> others;
  for (const auto& [key, steps] : ranks) {
    const double comm = mean_of(steps, &RankStep::comm_ms);
    if (key.first == of.first && key.second != of.second && !std::isnan(comm))
      others.push_back(comm);
  }
  const double waited = core::median(others) - mean_of(ranks.at(of), &RankStep::comm_ms);
  return waited > 0 ? waited : 0;
}

}  // namespace

std::vector<RankStep> rank_steps(std::span<const RankReport> ranks) {
  std::vector<RankStep> steps;
  for (const RankReport& report : ranks) {
    const model::Table* table = report.book.find(kStepsSheet);
    for (std::size_t row = 0; table != nullptr && row < table->row_count(); ++row)
      if (const auto step = rank_step(report, *table, row)) steps.push_back(*step);
    if (table != nullptr) continue;
    for (const TimelineFigure& figure : step_figures(std::span(&report, 1)))
      if (figure.type == kTotalTime && std::isfinite(figure.time_ms))
        steps.push_back({.run = report.run,
                         .rank = report.rank,
                         .step = figure.step,
                         .period_ms = figure.time_ms});
  }
  mark_cut_steps(steps);
  return steps;
}

StepSet shared_steps(std::span<const RankStep> steps) {
  std::map<std::pair<int, std::int64_t>, std::set<int>> ranks_of;
  std::map<int, std::size_t> most;  // ranks of a step, by run
  for (const RankStep& step : steps) {
    if (!step.is_whole) continue;
    std::set<int>& ranks = ranks_of[{step.run, step.step}];
    ranks.insert(step.rank);
    most[step.run] = std::max(most[step.run], ranks.size());
  }
  StepSet shared;
  for (const auto& [step, ranks] : ranks_of)
    if (ranks.size() == most[step.first]) shared.insert(step);
  return shared;
}

std::vector<StepState> step_states(std::span<const RankStep> steps, Modes modes) {
  const std::map<int, Run> runs = runs_of(steps);
  const StatesByRun usual = usual_states(runs);
  const bool all_modes = modes == Modes::kAll || has_modes(usual);
  std::vector<StepState> states;
  for (const auto& [number, run] : runs)
    for (const StepState& state :
         all_modes ? states_of_all_modes(number, run, usual.at(number)) : usual.at(number))
      states.push_back(state);
  return states;
}

std::vector<StepState> step_states(const Configuration& configuration) {
  return step_states(rank_steps(configuration.ranks), configuration.modes);
}

Modes common_modes(std::span<const RankStep> baseline, std::span<const RankStep> test) {
  const StatesByRun a = usual_states(runs_of(baseline));
  const StatesByRun b = usual_states(runs_of(test));
  const bool any = has_modes(a) || has_modes(b) || reach(a, b) || reach(b, a);
  return any ? Modes::kAll : Modes::kUsual;
}

void settle_modes(Configuration& baseline, Configuration& test) {
  baseline.modes = test.modes = common_modes(rank_steps(baseline.ranks), rank_steps(test.ranks));
}

StepSet steady_steps(std::span<const StepState> states) {
  StepSet steady;
  for (const StepState& state : states)
    if (state.is_steady) steady.emplace(state.run, state.step);
  return steady;
}

Configuration steps_of_run(std::string label, std::span<const RankAnalysis> ranks) {
  Configuration run{.label = std::move(label), .ranks = {}, .collectives = {}};
  for (const RankAnalysis& rank : ranks)
    if (!rank.steps.empty())
      run.ranks.push_back(
          {rank.rank, {.title = {}, .tables = {steps_table(rank, busy_intervals(rank))}}});
  return run;
}

std::set<std::int64_t> steady_numbers(std::span<const RankReport> ranks) {
  std::set<std::int64_t> numbers;
  for (const auto& [run, step] : steady_steps(step_states(rank_steps(ranks))))
    numbers.insert(step);
  return numbers;
}

std::vector<BoundRank> host_bound_ranks(std::span<const RankStep> steps, const StepSet& steady) {
  std::map<std::pair<int, int>, StepsOfRank> ranks;
  for (const RankStep& step : steps)
    if (step.is_whole && steady.count({step.run, step.step}) > 0)
      ranks[{step.run, step.rank}].push_back(&step);
  std::vector<BoundRank> bound;
  for (const auto& [key, own] : ranks) {
    const double host = mean_of(own, &RankStep::host_ms);
    const double share = 100 * host / mean_of(own, &RankStep::period_ms);
    if (!(share > kHostBoundPercent)) continue;
    bound.push_back({.run = key.first,
                     .rank = key.second,
                     .host_ms = host,
                     .share = share,
                     .others_ms = others_waiting(ranks, key),
                     .delay_us = mean_of(own, &RankStep::delay_us),
                     .queue_length = mean_of(own, &RankStep::queue_length),
                     .steps = static_cast<std::int64_t>(own.size())});
  }
  std::stable_sort(bound.begin(), bound.end(),
                   [](const BoundRank& a, const BoundRank& b) { return a.share > b.share; });
  return bound;
}

}  // namespace assay::trace
