#include "trace/compare/timeline_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/statistics.h"
#include "trace/compare/rows.h"
#include "trace/compare/step_states.h"
#include "trace/sheets/steps_table.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

constexpr std::array<const char*, 11> kReadingOrder = {kTotalTime,
                                                       kAllSteps,
                                                       "computation_time",
                                                       "exposed_comm_time",
                                                       "exposed_memcpy_time",
                                                       "idle_time",
                                                       "micro_idle_time",
                                                       "macro_idle_time",
                                                       "busy_time",
                                                       "total_comm_time",
                                                       "total_memcpy_time"};

constexpr std::array<const char*, 6> kParts = {"computation_time",    "exposed_comm_time",
                                               "exposed_memcpy_time", "idle_time",
                                               "micro_idle_time",     "macro_idle_time"};

constexpr double kMostSteps = 1e15;  // a larger number means a damaged report

void add_figures(const RankReport& rank,
                 std::string_view table_name,
                 std::vector<TimelineFigure>& figures) {
  const model::Table* table = rank.book.find(table_name);
  if (table == nullptr) return;
  const auto type = table->column("type");
  if (!type) return;
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    TimelineFigure figure{.run = rank.run,
                          .rank = rank.rank,
                          .step = step_number(*table, row).value_or(0),
                          .type = model::text(table->at(row, *type)),
                          .time_ms = number_at(*table, row, "time ms"),
                          .percent = number_at(*table, row, "percent")};
    if (std::isnan(figure.time_ms) && std::isnan(figure.percent)) continue;
    figures.push_back(std::move(figure));
  }
}

// Adds what the sheet `steps` of a rank says of the periods.
void add_periods(const RankReport& rank,
                 const model::Table& table,
                 std::vector<TimelineFigure>& figures) {
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const double period = number_at(table, row, kPeriodColumn);
    const auto step = step_number(table, row);
    if (std::isnan(period) || !step) continue;
    for (const std::string_view type : kTimelineRows) {
      const double time =
          type == kTotalTime ? period : number_at(table, row, std::string(type) + " ms");
      if (std::isnan(time)) continue;
      figures.push_back({.run = rank.run,
                         .rank = rank.rank,
                         .step = *step,
                         .type = std::string(type),
                         .time_ms = time,
                         .percent = period > 0 ? 100 * time / period : 0});
    }
  }
}

std::vector<TimelineFigure> read_figures(std::span<const RankReport> ranks,
                                         std::string_view table_name) {
  std::vector<TimelineFigure> figures;
  for (const RankReport& rank : ranks)
    add_figures(rank, table_name, figures);
  return figures;
}

// Leaves the figures of these steps, of each rank that has them whole.
void keep_whole(std::vector<TimelineFigure>& figures,
                std::span<const RankStep> steps,
                const StepSet& kept) {
  std::set<std::tuple<int, int, std::int64_t>> in_part;
  for (const RankStep& step : steps)
    if (!step.is_whole) in_part.emplace(step.run, step.rank, step.step);
  std::erase_if(figures, [&](const TimelineFigure& figure) {
    return kept.count({figure.run, figure.step}) == 0 ||
           in_part.count({figure.run, figure.rank, figure.step}) > 0;
  });
}

using RankOfRun = std::pair<int, int>;

// Returns the position of the last step of each rank.
std::map<RankOfRun, std::size_t> last_steps(std::span<const TimelineFigure> lengths) {
  std::map<RankOfRun, std::size_t> last;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto found = last.try_emplace({lengths[i].run, lengths[i].rank}, i).first;
    if (lengths[i].step > lengths[found->second].step) found->second = i;
  }
  return last;
}

// Returns the usual wait for a next step by rank: what completes the period of its last one.
std::map<RankOfRun, double> waits_for_next_ms(std::span<const TimelineFigure> lengths,
                                              std::span<const RankStep> steps) {
  const std::map<RankOfRun, std::size_t> last = last_steps(lengths);
  std::map<RankOfRun, double> waits_ms;
  for (const RankStep& step : steps) {
    const auto found = last.find({step.run, step.rank});
    if (found != last.end() && lengths[found->second].step == step.step)
      waits_ms[found->first] = std::max(0.0, step.period_ms - lengths[found->second].time_ms);
  }
  return waits_ms;
}

// Returns the lengths of the steps that all ranks of their run have whole. The profiled window ends
// with the work of its last step, so that the last one that counts has no wait for one that does
// not.
std::vector<TimelineFigure> shared_step_lengths(std::span<const RankReport> ranks,
                                                std::span<const RankStep> steps) {
  std::vector<TimelineFigure> lengths = step_figures(ranks);
  std::erase_if(lengths, [](const TimelineFigure& figure) { return figure.type != kTotalTime; });
  std::map<RankOfRun, double> waits_ms = waits_for_next_ms(lengths, steps);
  std::map<RankOfRun, std::int64_t> ends;
  for (const auto& [rank, position] : last_steps(lengths))
    ends[rank] = lengths[position].step;
  keep_whole(lengths, steps, shared_steps(steps));
  for (const auto& [rank, position] : last_steps(lengths))
    if (lengths[position].step != ends.at(rank)) lengths[position].time_ms -= waits_ms[rank];
  return lengths;
}

// The values of one type, each with its run.
struct RunSeries {
  std::vector<RunValue> time_ms;
  std::vector<RunValue> percent;

  void add(int run, double time, double share) {
    time_ms.push_back({.run = run, .value = time});
    percent.push_back({.run = run, .value = share});
  }
};

SeriesByType series(const std::map<std::string, RunSeries>& types, Repetition repetition) {
  SeriesByType result;
  for (const auto& [type, values] : types)
    result[type] = {.time_ms = repetitions(values.time_ms, repetition),
                    .percent = repetitions(values.percent, repetition)};
  return result;
}

std::size_t position(const std::string& type) {
  return static_cast<std::size_t>(std::find(kReadingOrder.begin(), kReadingOrder.end(), type) -
                                  kReadingOrder.begin());
}

}  // namespace

std::vector<TimelineFigure> whole_trace_figures(std::span<const RankReport> ranks) {
  return read_figures(ranks, "gpu_timeline");
}

std::vector<TimelineFigure> step_figures(std::span<const RankReport> ranks) {
  return read_figures(ranks, "gpu_timeline_steps");
}

std::optional<std::int64_t> step_number(const model::Table& table, std::size_t row) {
  const double step = number_at(table, row, "step");
  if (!(std::fabs(step) < kMostSteps)) return std::nullopt;  // true for NaN
  return static_cast<std::int64_t>(step);
}

std::vector<TimelineFigure> steady_figures(const Configuration& configuration) {
  std::vector<TimelineFigure> figures;
  for (const RankReport& rank : configuration.ranks) {
    if (const model::Table* table = rank.book.find(kStepsSheet))
      add_periods(rank, *table, figures);
    else
      add_figures(rank, "gpu_timeline_steps", figures);
  }
  const std::vector<RankStep> steps = rank_steps(configuration.ranks);
  keep_whole(figures, steps, steady_steps(step_states(steps, configuration.modes)));
  for (TimelineFigure& figure : shared_step_lengths(configuration.ranks, steps)) {
    figure.type = kAllSteps;
    figures.push_back(std::move(figure));
  }
  return figures;
}

double mean_ms(const SeriesByType& series, const std::string& type) {
  const auto found = series.find(type);
  return found == series.end() ? kNaN : core::mean(found->second.time_ms);
}

SeriesByType mean_over_ranks(std::span<const TimelineFigure> figures, Repetition repetition) {
  std::map<std::tuple<std::string, int, std::int64_t>, TimelineSeries> steps;
  for (const TimelineFigure& figure : figures) {
    TimelineSeries& ranks = steps[{figure.type, figure.run, figure.step}];
    ranks.time_ms.push_back(figure.time_ms);
    ranks.percent.push_back(figure.percent);
  }
  std::map<std::string, RunSeries> types;
  for (const auto& [key, ranks] : steps)
    types[std::get<0>(key)].add(std::get<1>(key), core::mean(ranks.time_ms),
                                core::mean(ranks.percent));
  return series(types, repetition);
}

std::map<int, SeriesByType> by_rank(std::span<const TimelineFigure> figures,
                                    Repetition repetition) {
  std::map<int, std::map<std::string, RunSeries>> ranks;
  for (const TimelineFigure& figure : figures)
    ranks[figure.rank][figure.type].add(figure.run, figure.time_ms, figure.percent);
  std::map<int, SeriesByType> result;
  for (const auto& [rank, types] : ranks)
    result[rank] = series(types, repetition);
  return result;
}

TimelinePair timeline_pair(const Sides& sides) {
  TimelinePair pair{
      .basis = {.window = Basis::Window::kStep, .repetition = repetition(sides, Repetition::kStep)},
      .baseline = steady_figures(sides.baseline),
      .test = steady_figures(sides.test)};
  if (!pair.baseline.empty() && !pair.test.empty()) return pair;
  return whole_trace_pair(sides);
}

TimelinePair whole_trace_pair(const Sides& sides) {
  return {.basis = {.window = Basis::Window::kWholeTrace,
                    .repetition = repetition(sides, Repetition::kNone)},
          .baseline = whole_trace_figures(sides.baseline.ranks),
          .test = whole_trace_figures(sides.test.ranks)};
}

model::Better timeline_direction(const std::string& type) {
  const bool is_neither = type == "busy_time" || type.ends_with("idle_time");
  return is_neither ? model::Better::kNeither : model::Better::kLower;
}

bool is_part(const std::string& type) {
  return std::find(kParts.begin(), kParts.end(), type) != kParts.end();
}

std::vector<std::string> reading_order(const SeriesByType& baseline, const SeriesByType& test) {
  std::set<std::string> types;
  for (const auto& [type, series] : baseline)
    types.insert(type);
  for (const auto& [type, series] : test)
    types.insert(type);
  std::vector<std::string> order(types.begin(), types.end());
  std::stable_sort(order.begin(), order.end(), [](const std::string& a, const std::string& b) {
    return position(a) < position(b);
  });
  return order;
}

}  // namespace assay::trace
