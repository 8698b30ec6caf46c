#include "trace/compare/step_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/counted.h"
#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/rows.h"
#include "trace/compare/step_states.h"
#include "trace/compare/timeline_words.h"
#include "trace/sheets/steps_table.h"

namespace assay::trace {
namespace {

constexpr std::size_t kStepsNamed = 4;
constexpr std::size_t kRanksNamed = 4;

std::string more_or_less(double percent, const char* more, const char* less) {
  return fmt::format("{} % {}", percent_text(percent), percent >= 0 ? more : less);
}

std::string cause_in_words(const StepState& state) {
  switch (state.cause) {
    case Cause::kHost:
      return fmt::format(": rank {} waited for its host {:.3g} ms {} than in the steady steps",
                         state.rank, std::fabs(state.ms), state.ms > 0 ? "more" : "less");
    case Cause::kStraggler:
      return fmt::format(": the other ranks waited {:.3g} ms more for rank {}", state.ms,
                         state.rank);
    case Cause::kCompute:
      return fmt::format(": the middle rank computed {:.3g} ms {} than in the steady steps",
                         std::fabs(state.ms), state.ms > 0 ? "longer" : "shorter");
    case Cause::kWait:
      return fmt::format(": the GPUs had no work for {:.3g} ms before it", state.ms);
    case Cause::kFirst:
      return "";
    case Cause::kNone:
      break;
  }
  return ": the traces show no cause";
}

// Says which part of a side's steps are of another mode; empty for none.
std::string modes_in_words(const std::vector<StepState>& states, const Configuration& side) {
  std::vector<double> others;
  std::vector<double> usual;
  for (const StepState& state : states)
    if (state.is_steady) (state.is_of_other_mode ? others : usual).push_back(state.period_ms);
  if (others.empty()) return "";
  const double percent = 100 * (core::mean(others) / core::mean(usual) - 1);
  return fmt::format("{} of {} of {} {} another mode: {} on average. Steps of all modes count.",
                     others.size(), core::counted(states.size(), "step"), side.label,
                     others.size() == 1 ? "is of" : "are of",
                     more_or_less(percent, "more time", "less time"));
}

// How many steps a rank has.
struct OwnSteps {
  std::size_t whole = 0;
  std::size_t others = 0;
};

// Returns "rank 1 lacks 2 and has 1 that is not whole".
std::string lacking_in_words(int rank, const OwnSteps& own, std::size_t all) {
  const std::size_t lacking = all - own.whole - own.others;
  std::vector<std::string> texts;
  if (lacking > 0) texts.push_back(fmt::format("lacks {}", lacking));
  if (own.others > 0)
    texts.push_back(
        fmt::format("has {} that {} not whole", own.others, own.others == 1 ? "is" : "are"));
  return fmt::format("rank {} {}", rank, core::join(texts, " and "));
}

// Says of one run which steps do not count because ranks lack them; empty for none.
std::string unshared_in_words(const std::string& run, std::span<const RankStep> steps) {
  std::map<int, OwnSteps> ranks;
  std::set<std::int64_t> all;
  for (const RankStep& step : steps) {
    ++(step.is_whole ? ranks[step.rank].whole : ranks[step.rank].others);
    all.insert(step.step);
  }
  const std::size_t left_out = all.size() - shared_steps(steps).size();
  if (left_out == 0) return "";
  std::vector<std::string> texts;
  std::size_t lacking = 0;
  for (const auto& [rank, own] : ranks) {
    if (own.whole == all.size()) continue;
    if (++lacking <= kRanksNamed) texts.push_back(lacking_in_words(rank, own, all.size()));
  }
  if (lacking > kRanksNamed)
    texts.push_back(fmt::format("and {} some", core::counted(lacking - kRanksNamed, "more rank")));
  return fmt::format("{} of {} of {} {} left out, which not all ranks have: {}.", left_out,
                     core::counted(all.size(), "step"), run, left_out == 1 ? "is" : "are",
                     core::join(texts, ", "));
}

std::string unshared_in_words(const Configuration& side) {
  std::map<int, std::vector<RankStep>> runs;
  for (const RankStep& step : rank_steps(side.ranks))
    runs[step.run].push_back(step);
  std::vector<std::string> texts;
  for (const auto& [run, steps] : runs)
    if (std::string text = unshared_in_words(run_name(side, run), steps); !text.empty())
      texts.push_back(std::move(text));
  return core::join(texts, " ");
}

std::string state_in_words(const StepState& state, const Configuration& side) {
  const double percent = 100 * (state.period_ms / state.steady_ms - 1);
  return fmt::format("{}step {}{} took {:.3f} ms, {} than a steady one{}",
                     side.runs.size() > 1 ? run_name(side, state.run) + ", " : "", state.step,
                     state.is_first ? ", the first of the profile," : "", state.period_ms,
                     more_or_less(percent, "more", "less"), cause_in_words(state));
}

// The mean over runs of each run's mean period, over all steps or the steady ones.
double mean_period(const std::vector<StepState>& states, bool steady_only) {
  std::map<int, std::vector<double>> runs;
  for (const StepState& state : states)
    if (state.is_steady || !steady_only) runs[state.run].push_back(state.period_ms);
  std::vector<double> means;
  for (const auto& [run, periods] : runs)
    means.push_back(core::mean(periods));
  return core::mean(means);
}

// One rank over the runs of its side.
struct BoundOverRuns {
  std::vector<double> host_ms;
  std::vector<double> share;
  std::vector<double> others_ms;
  std::vector<double> delay_us;
  std::vector<double> queue_length;
};

std::string bound_in_words(int rank, const BoundOverRuns& bound, const Configuration& side) {
  const std::string runs =
      side.runs.size() > 1
          ? fmt::format(" in {} of {} runs", bound.host_ms.size(), side.runs.size())
          : "";
  const double others = core::mean(bound.others_ms);
  const std::string waiting =
      others > 0 ? fmt::format(", and the others' collectives take {} ms longer, waits included",
                               percent_text(others))
                 : "";
  return fmt::format(
      "rank {} waits for its host for {} ms of a steady step ({} %){}{} (launch delay {} µs, queue "
      "length {})",
      rank, percent_text(core::mean(bound.host_ms)), percent_text(core::mean(bound.share)), runs,
      waiting, percent_text(core::mean(bound.delay_us)),
      percent_text(core::mean(bound.queue_length)));
}

const Change* change_of(const std::vector<TimelineChange>& changes, const char* type) {
  for (const TimelineChange& change : changes)
    if (change.type == type) return &change.time_ms;
  return nullptr;
}

// A run of several steps tells what lies between them.
bool has_periods(const Configuration& side) {
  std::map<int, int> steps;
  for (const StepState& state : step_states(side))
    if (++steps[state.run] > 1) return true;
  return false;
}

std::string state_word(const StepState& state) {
  if (state.is_of_other_mode) return "steady, of another mode";
  if (state.is_steady) return "steady";
  switch (state.cause) {
    case Cause::kHost:
      return fmt::format("transient: host of rank {}", state.rank);
    case Cause::kStraggler:
      return fmt::format("transient: rank {} is late", state.rank);
    case Cause::kCompute:
      return state.ms > 0 ? "transient: computes longer" : "transient: computes shorter";
    case Cause::kWait:
      return "transient: first after a wait";
    case Cause::kFirst:
      return "transient: first";
    case Cause::kNone:
      break;
  }
  return "transient";
}

void append_steps(const Configuration& side, model::Table& table) {
  const std::vector<RankStep> steps = rank_steps(side.ranks);
  std::map<std::pair<int, std::int64_t>, std::string> words;
  for (const StepState& state : step_states(steps, side.modes))
    words[{state.run, state.step}] = state_word(state);
  for (const RankStep& step : steps)
    table.add_row({run_name(side, step.run), static_cast<std::int64_t>(step.rank), step.step,
                   !step.is_whole
                       ? "not whole"
                       : words.try_emplace({step.run, step.step}, "not on all ranks").first->second,
                   cell_of(step.period_ms), cell_of(step.wait_ms), cell_of(step.host_ms),
                   cell_of(100 * step.host_ms / step.period_ms), cell_of(step.delay_us),
                   cell_of(step.queue_length), cell_of(step.comm_ms)});
}

}  // namespace

std::string transients_in_words(const Configuration& side) {
  const std::vector<StepState> states = step_states(side);
  std::string first = unshared_in_words(side);
  const std::string modes = modes_in_words(states, side);
  if (!first.empty() && !modes.empty()) first += " ";
  first += modes;
  std::vector<StepState> transient;
  std::copy_if(states.begin(), states.end(), std::back_inserter(transient),
               [](const StepState& state) { return !state.is_steady; });
  if (transient.empty()) return first;
  const auto differs = [](const StepState& state) {
    return std::fabs(state.period_ms / state.steady_ms - 1);
  };
  std::stable_sort(transient.begin(), transient.end(),
                   [&](const StepState& a, const StepState& b) { return differs(a) > differs(b); });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(transient.size(), kStepsNamed); ++i)
    texts.push_back(state_in_words(transient[i], side));
  if (transient.size() > kStepsNamed)
    texts.push_back(fmt::format("and {} more", transient.size() - kStepsNamed));
  const double steady = mean_period(states, true);
  const double effect = 100 * (mean_period(states, false) / steady - 1);
  return fmt::format(
      "{}{}{} of {} of {} {} not steady and left out: {}. With {}, its mean would "
      "be {}.",
      first, first.empty() ? "" : " ", transient.size(), core::counted(states.size(), "step"),
      side.label, transient.size() == 1 ? "is" : "are", core::join(texts, "; "),
      transient.size() == 1 ? "it" : "them", more_or_less(effect, "higher", "lower"));
}

std::string host_bound_in_words(const Configuration& side) {
  const std::vector<RankStep> steps = rank_steps(side.ranks);
  std::map<int, BoundOverRuns> ranks;
  for (const BoundRank& bound :
       host_bound_ranks(steps, steady_steps(step_states(steps, side.modes)))) {
    BoundOverRuns& rank = ranks[bound.rank];
    rank.host_ms.push_back(bound.host_ms);
    rank.share.push_back(bound.share);
    rank.others_ms.push_back(bound.others_ms);
    rank.delay_us.push_back(bound.delay_us);
    rank.queue_length.push_back(bound.queue_length);
  }
  if (ranks.empty()) return "";
  std::vector<std::pair<int, const BoundOverRuns*>> order;
  for (const auto& [rank, bound] : ranks)
    order.emplace_back(rank, &bound);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return core::sum(a.second->host_ms) > core::sum(b.second->host_ms);
  });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(order.size(), kRanksNamed); ++i)
    texts.push_back(bound_in_words(order[i].first, *order[i].second, side));
  if (order.size() > kRanksNamed)
    texts.push_back(fmt::format("and {}", core::counted(order.size() - kRanksNamed, "more rank")));
  return fmt::format("{}: {}.", side.label, core::join(texts, "; "));
}

std::string mean_in_words(const std::vector<TimelineChange>& changes,
                          Basis basis,
                          const Sides& sides) {
  const Change* mean = change_of(changes, kAllSteps);
  if (mean == nullptr || std::isnan(mean->difference)) return "";
  return fmt::format("{} is {}: {:.3f} against {:.3f} ms a step{}.", sides.test.label,
                     speed_against(sides.baseline.label, *mean), mean->test, mean->baseline,
                     std::isnan(mean->low)
                         ? std::string()
                         : " (" + certainty_in_words(*mean, basis, sides.options.criterion) + ")");
}

std::string lacking_wait_in_words(const Sides& sides) {
  const bool baseline = has_periods(sides.baseline);
  if (baseline == has_periods(sides.test)) return "";
  const Configuration& lacking = baseline ? sides.test : sides.baseline;
  const Configuration& other = baseline ? sides.baseline : sides.test;
  return fmt::format(
      "the only step of {} lacks its wait for a next one, which the steps of {} have",
      lacking.label, other.label);
}

model::Table steps_of_sides(const Sides& sides) {
  using model::Better;
  model::Table table{
      .name = "Steps",
      .title = "Every step of every rank: what is steady, and the launches behind it",
      .columns = {{.name = "run"},
                  {.name = "rank"},
                  {.name = "step"},
                  {.name = "state", .description = "only steady steps are compared"},
                  {.name = kPeriodColumn, .unit = "ms", .better = Better::kLower},
                  {.name = kWaitColumn, .unit = "ms"},
                  {.name = kHostColumn, .unit = "ms", .better = Better::kLower},
                  {.name = kHostShareColumn, .unit = "%", .better = Better::kLower},
                  {.name = kDelayColumn, .unit = "us"},
                  {.name = kQueueColumn},
                  {.name = "total_comm_time ms", .unit = "ms"}}};
  append_steps(sides.baseline, table);
  append_steps(sides.test, table);
  table.style.excel_table = table.row_count() > 0;
  return table;
}

}  // namespace assay::trace
