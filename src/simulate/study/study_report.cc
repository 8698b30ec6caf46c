#include "simulate/study/study_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/counted.h"
#include "core/statistics.h"
#include "core/text.h"
#include "report/colors.h"
#include "report/heatmap.h"

namespace assay::simulate {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostBars = 60;

// A column of an axis, with what its values are.
model::Column axis_column(const std::string& name) {
  static const std::map<std::string, std::string> units{
      {"L", "ns"}, {"o", "ns"}, {"g", "ns"}, {"G", "ns/byte"}, {"O", "ns/byte"}, {"S", "bytes"}};
  const std::string letter = name.starts_with("intra-") ? name.substr(6) : name;
  const auto unit = units.find(letter);
  return {.name = name, .unit = unit == units.end() ? "" : unit->second};
}

double ms_of(const TaskResult& result) {
  return result.error.empty() ? static_cast<double>(result.end_ns) / 1e6 : kNone;
}

// Finds the tasks that others are compared with.
class Baselines {
 public:
  explicit Baselines(const StudyOutcome& outcome) : outcome_(outcome) {
    for (std::size_t task = 0; task < outcome.tasks.size(); ++task)
      places_.emplace(outcome.tasks[task].values, task);
  }

  [[nodiscard]] bool any() const { return !outcome_.study.baseline.values.empty(); }

  // How many times as long the task takes as the one that it is compared with; NaN if one of the
  // two has no time.
  [[nodiscard]] double ratio(std::size_t task) const {
    std::vector<std::string> values = outcome_.tasks[task].values;
    for (const auto& [axis, value] : outcome_.study.baseline.values)
      values[axis] = value.front();
    const auto found = places_.find(values);
    if (!any() || found == places_.end()) return kNone;
    const double baseline = ms_of(outcome_.results[found->second]);
    return baseline > 0 ? ms_of(outcome_.results[task]) / baseline : kNone;
  }

  // "network full".
  [[nodiscard]] std::string name() const {
    std::vector<std::string> parts;
    for (const auto& [axis, value] : outcome_.study.baseline.values)
      parts.push_back(outcome_.study.axes[axis] + " " + value.front());
    return core::join(parts, ", ");
  }

 private:
  const StudyOutcome& outcome_;
  std::map<std::vector<std::string>, std::size_t> places_;
};

// The values of the task on axes with several values, but for those left out.
std::string label_of(const StudyOutcome& outcome,
                     std::size_t task,
                     const std::set<std::string>& left_out = {}) {
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < outcome.study.axes.size(); ++axis) {
    const std::string& name = outcome.study.axes[axis];
    const std::string& value = outcome.tasks[task].values[axis];
    const bool differs =
        std::any_of(outcome.tasks.begin(), outcome.tasks.end(),
                    [&](const StudyTask& other) { return other.values[axis] != value; });
    if (left_out.contains(name) || !differs || value.empty()) continue;
    const bool is_word = name == "job" || name == "network" || name == "failure" ||
                         name == "collectives" || name == "compat";
    parts.push_back(is_word ? value : name + " " + value);
  }
  return core::join(parts, ", ");
}

const std::string& first_failure(const StudyOutcome& outcome, std::size_t axis) {
  return outcome.tasks.front().values[axis];
}

// A line of a figure: tasks that differ in their size and seed only.
struct Series {
  std::string name;
  std::string group;  // without its failure: what has one colour
  bool is_mark = false;
  std::map<std::int64_t, std::vector<double>> ms_of_ranks = {};
};

std::vector<Series> series_of(const StudyOutcome& outcome) {
  std::vector<Series> all;
  const auto failure = outcome.study.axis("failure");
  for (std::size_t task = 0; task < outcome.tasks.size(); ++task) {
    const TaskResult& result = outcome.results[task];
    if (!result.error.empty()) continue;
    const std::string name = label_of(outcome, task, {"size", "seed"});
    auto self = std::find_if(all.begin(), all.end(),
                             [&](const Series& series) { return series.name == name; });
    if (self == all.end()) {
      const bool is_mark =
          failure && outcome.tasks[task].values[*failure] != first_failure(outcome, *failure);
      all.push_back({.name = name,
                     .group = label_of(outcome, task, {"size", "seed", "failure"}),
                     .is_mark = is_mark});
      self = std::prev(all.end());
    }
    self->ms_of_ranks[result.ranks].push_back(ms_of(result));
  }
  return all;
}

report::CurveFigure curve_figure(const std::vector<Series>& all) {
  report::CurveFigure figure{.title = "How long the slowest rank takes with more ranks",
                             .subtitle = "",
                             .x = {.title = "ranks", .ticks = {}},
                             .y = {.title = "end of the slowest rank (ms)", .ticks = {}},
                             .curves = {}};
  std::vector<std::string> groups;
  std::set<std::int64_t> ranks;
  std::vector<double> times;
  bool marks = false;
  bool bands = false;
  for (const Series& series : all) {
    auto group = std::find(groups.begin(), groups.end(), series.group);
    if (group == groups.end()) group = groups.insert(groups.end(), series.group);
    report::Curve& curve = figure.curves.emplace_back(report::Curve{
        .name = series.name.empty() ? std::string("simulated") : series.name,
        .color = report::category_color(static_cast<std::size_t>(group - groups.begin())),
        .look = series.is_mark ? report::Curve::Look::kMarks : report::Curve::Look::kMeasured,
        .points = {}});
    marks = marks || series.is_mark;
    for (const auto& [count, ms] : series.ms_of_ranks) {
      const bool several = ms.size() > 1;
      bands = bands || several;
      curve.points.push_back({.x = static_cast<double>(count),
                              .y = core::median(ms),
                              .low = several ? core::minimum(ms) : kNone,
                              .high = several ? core::maximum(ms) : kNone,
                              .note = several ? fmt::format("{} seeds", ms.size()) : ""});
      ranks.insert(count);
      times.insert(times.end(), ms.begin(), ms.end());
    }
  }
  figure.subtitle = marks ? "lines: nothing fails; marks: with a failure" : "simulated";
  if (bands) figure.subtitle += "; medians over seeds, from least to most";
  figure.x.low = static_cast<double>(*ranks.begin()) / 1.2;
  figure.x.high = static_cast<double>(*ranks.rbegin()) * 1.2;
  for (const std::int64_t count : ranks)
    figure.x.ticks.push_back({static_cast<double>(count), fmt::format("{}", count)});
  figure.y.low = core::minimum(times) / 1.4;
  // The names take this part of the height.
  const double names = std::min(0.05 + 0.035 * static_cast<double>(all.size()), 0.6);
  const double high = core::maximum(times) * 1.1;
  figure.y.high = high * std::pow(high / figure.y.low, names / (1 - names));
  for (const double tick : report::logarithmic_ticks(figure.y.low, figure.y.high))
    figure.y.ticks.push_back({tick, fmt::format("{:.4g}", tick)});
  return figure;
}

std::optional<report::RankingFigure> ranking_figure(const StudyOutcome& outcome) {
  const Baselines baselines(outcome);
  report::RankingFigure figure{
      .title = "How much longer the slowest rank takes",
      .subtitle = "simulated; beside " + baselines.name() + ", otherwise the same",
      .axis = "longer than with " + baselines.name() + ", %",
      .headings = {"longer", "end"},
      .items = {}};
  for (std::size_t task = 0; task < outcome.tasks.size(); ++task) {
    const double percent = (baselines.ratio(task) - 1) * 100;
    if (std::isnan(percent)) continue;
    figure.items.push_back({.name = label_of(outcome, task),
                            .value = percent,
                            .low = kNone,
                            .high = kNone,
                            .texts = {fmt::format("{:+.3g} %", percent),
                                      fmt::format("{:.4g} ms", ms_of(outcome.results[task]))}});
  }
  const bool any = std::any_of(figure.items.begin(), figure.items.end(),
                               [](const auto& item) { return item.value != 0; });
  if (!any || figure.items.size() > kMostBars) return std::nullopt;
  return figure;
}

// The end of each task, and how much of it is contention.
std::optional<report::CompositionChart> composition_of(const StudyOutcome& outcome) {
  if (outcome.tasks.size() > kMostBars) return std::nullopt;
  report::CompositionChart chart{
      .axis = "end of the slowest rank (ms)",
      .unit = "ms",
      .parts = {{"contention", report::category_color(0)}, {"all else", report::category_color(1)}},
      .bars = {}};
  bool any = false;
  for (std::size_t task = 0; task < outcome.tasks.size(); ++task) {
    const TaskResult& result = outcome.results[task];
    if (!result.error.empty()) continue;
    any = any || result.contention_percent.value_or(0) > 0;
    const double lost = ms_of(result) * result.contention_percent.value_or(0) / 100;
    chart.bars.push_back({.name = label_of(outcome, task), .values = {lost, ms_of(result) - lost}});
  }
  if (!any) return std::nullopt;
  return chart;
}

std::string sentence_of(const StudyOutcome& outcome) {
  const Baselines baselines(outcome);
  std::size_t worst = outcome.tasks.size();
  for (std::size_t task = 0; task < outcome.tasks.size(); ++task) {
    const double ratio = baselines.ratio(task);
    if (std::isnan(ratio)) continue;
    if (worst == outcome.tasks.size() || ratio > baselines.ratio(worst)) worst = task;
  }
  if (worst == outcome.tasks.size()) {
    return core::counted(outcome.tasks.size() - outcome.failed(), "task was simulated",
                         "tasks were simulated");
  }
  return fmt::format("At worst the slowest rank takes {:.3g} times as long as with {}: {} ms ({})",
                     baselines.ratio(worst), baselines.name(),
                     fmt::format("{:.4g}", ms_of(outcome.results[worst])),
                     label_of(outcome, worst));
}

}  // namespace

std::size_t StudyOutcome::failed() const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [](const TaskResult& result) { return !result.error.empty(); }));
}

model::Table task_table(const Study& study, const std::vector<StudyTask>& tasks) {
  model::Table table{.name = "tasks", .title = "Tasks", .columns = {}};
  for (const std::string& axis : study.axes)
    table.columns.push_back(axis_column(axis));
  for (const StudyTask& task : tasks) {
    std::vector<model::Cell> row;
    for (const std::string& value : task.values)
      row.emplace_back(value);
    table.add_row(std::move(row));
  }
  return table;
}

model::Table result_table(const StudyOutcome& outcome) {
  const Baselines baselines(outcome);
  const auto any = [&](const std::optional<double> TaskResult::*value) {
    return std::any_of(outcome.results.begin(), outcome.results.end(),
                       [&](const TaskResult& result) { return (result.*value).has_value(); });
  };
  const bool networks = any(&TaskResult::contention_percent);
  const bool costs = any(&TaskResult::replaced_percent);
  model::Table table = task_table(outcome.study, {});
  table.name = "study";
  table.title = "What came of each task";
  const auto add = [&](model::Column column) { table.columns.push_back(std::move(column)); };
  add({.name = "ranks"});
  add({.name = "end",
       .unit = "ms",
       .better = model::Better::kLower,
       .description = "of the slowest rank"});
  if (baselines.any()) {
    add({.name = "ratio",
         .unit = "x",
         .better = model::Better::kLower,
         .description = "of the end to that with " + baselines.name() + ", otherwise the same"});
  }
  if (networks) {
    add({.name = "contention",
         .unit = "%",
         .description = "of the end, on the critical path: what sharing links costs"});
    add({.name = "lost",
         .unit = "%",
         .description = "of their time in the network that all messages lose to each other"});
  }
  if (costs) {
    add({.name = "replaced",
         .unit = "%",
         .description = "of the time of ranks, by costs of collectives"});
  }
  add({.name = "cpu", .unit = "s", .description = "that the simulation took"});
  add({.name = "memory", .unit = "MB", .description = "the most that it had"});
  if (outcome.failed() > 0) add({.name = "error"});
  for (std::size_t task = 0; task < outcome.tasks.size(); ++task) {
    const TaskResult& result = outcome.results[task];
    const bool good = result.error.empty();
    std::vector<model::Cell> row;
    for (const std::string& value : outcome.tasks[task].values)
      row.emplace_back(value);
    row.push_back(good ? model::Cell(result.ranks) : model::Cell());
    row.push_back(model::cell_of(ms_of(result)));
    if (baselines.any()) row.push_back(model::cell_of(baselines.ratio(task)));
    if (networks) row.push_back(model::cell_of(result.contention_percent.value_or(kNone)));
    if (networks) row.push_back(model::cell_of(result.lost_percent.value_or(kNone)));
    if (costs) row.push_back(model::cell_of(result.replaced_percent.value_or(kNone)));
    row.emplace_back(result.cpu_seconds);
    row.emplace_back(result.peak_mb);
    // What follows the first line are examples.
    if (outcome.failed() > 0) row.emplace_back(result.error.substr(0, result.error.find('\n')));
    table.add_row(std::move(row));
  }
  return table;
}

std::optional<StudyFigure> study_figure(const StudyOutcome& outcome) {
  const std::vector<Series> all = series_of(outcome);
  const bool sizes = std::any_of(
      all.begin(), all.end(), [](const Series& series) { return series.ms_of_ranks.size() > 1; });
  if (sizes) return curve_figure(all);
  if (auto ranking = ranking_figure(outcome)) return StudyFigure(std::move(*ranking));
  return std::nullopt;
}

report::Page study_page(const StudyOutcome& outcome, const model::Table& table) {
  report::Page page{.title = "Study " + outcome.study.name,
                    .answer = {.sentence = sentence_of(outcome)}};
  if (outcome.failed() > 0) {
    page.answer.warnings.push_back(
        {fmt::format("{} of {} failed: their rows in the table tell why", outcome.failed(),
                     core::counted(outcome.tasks.size(), "task")),
         "study"});
  }
  if (auto figure = study_figure(outcome)) {
    if (auto* curves = std::get_if<report::CurveFigure>(&*figure)) {
      page.cards.push_back({.id = "ranks", .title = curves->title, .content = std::move(*curves)});
      page.cards.back().notes = {std::get<report::CurveFigure>(page.cards.back().content).subtitle};
    } else {
      auto& ranking = std::get<report::RankingFigure>(*figure);
      std::string title = ranking.title;
      page.cards.push_back(
          {.id = "longer", .title = std::move(title), .content = std::move(ranking)});
    }
  }
  if (auto composition = composition_of(outcome)) {
    page.cards.push_back({.id = "contention",
                          .title = "How much of the end is contention",
                          .content = std::move(*composition)});
  }
  page.cards.push_back(
      {.id = "study",
       .title = table.title,
       .content = report::TableCard{.table = table, .shown = report::TableCard::Shown::kOpen}});
  page.provenance = {{"study", outcome.study.name}};
  return page;
}

}  // namespace assay::simulate
