#include "trace/compare/timeline_comparison.h"

#include <algorithm>
#include <utility>

#include "core/statistics.h"
#include "trace/compare/change_columns.h"
#include "trace/compare/combine.h"
#include "trace/compare/rows.h"
#include "trace/compare/step_words.h"
#include "trace/compare/tracelens_comparison.h"

namespace assay::trace {
namespace {

using model::Cell;

const TimelineSeries& series_of(const SeriesByType& types, const std::string& type) {
  static const TimelineSeries none;
  const auto found = types.find(type);
  return found == types.end() ? none : found->second;
}

void append_columns(model::Table& table, const Sides& sides, Basis basis) {
  append_pair_columns(table, sides, {.name = "time_ms", .unit = "ms"});
  table.columns.push_back({.name = "diff_time_ms", .unit = "ms", .description = "test - baseline"});
  table.columns.push_back({.name = kPercentChange,
                           .unit = "%",
                           .better = model::Better::kHigher,
                           .description = "100 (B-T)/B: positive when the test takes less time"});
  for (const char* name : {"ci_low_percent", "ci_high_percent"})
    table.columns.push_back(
        {.name = name, .unit = "%", .description = "confidence interval of percent_change"});
  for (const char* name : {"ci_low_ms", "ci_high_ms"})
    table.columns.push_back(
        {.name = name, .unit = "ms", .description = "confidence interval of diff_time_ms"});
  append_range_columns(table, sides, {.name = "ms", .unit = "ms"}, basis.repetition);
  table.columns.push_back(
      {.name = kStatus, .description = status_meaning(sides.options.criterion)});
  table.columns.push_back(p_corrected_column());
  table.columns.push_back({.name = "ratio", .description = "test / baseline"});
  append_pair_columns(table, sides,
                      {.name = "percent", .unit = "%", .better = model::Better::kNeither});
  table.columns.push_back({.name = "diff_percent", .unit = "%", .description = "test - baseline"});
  append_pair_columns(
      table, sides,
      {.name = std::string(noun(basis.repetition)) + "s", .better = model::Better::kNeither});
}

void append_cells(std::vector<Cell>& row, const TimelineChange& change, Basis basis) {
  const Change& time = change.time_ms;
  for (const double value : {time.baseline, time.test, time.difference, time.percent,
                             time.percent_low, time.percent_high, time.low, time.high})
    row.push_back(cell_of(value));
  append_ranges(row, time, basis.repetition);
  row.emplace_back(timeline_verdict(time, basis));
  row.push_back(cell_of(time.p_corrected));
  row.push_back(cell_of(time.ratio));
  row.push_back(cell_of(change.baseline_percent));
  row.push_back(cell_of(change.test_percent));
  row.push_back(cell_of(change.test_percent - change.baseline_percent));
  row.emplace_back(repetition_count(time.baseline_count, basis.repetition));
  row.emplace_back(repetition_count(time.test_count, basis.repetition));
}

std::string basis_title(Basis basis) {
  const bool steps = basis.window == Basis::Window::kStep;
  const std::string figures = steps ? "milliseconds per steady step"
                                    : "milliseconds of the whole traces, which name no steps";
  if (basis.repetition == Repetition::kNone) return figures + ": no interval";
  return figures + ", interval over " + noun(basis.repetition) + "s";
}

model::Table summary_comparison(const TimelinePair& pair, const Sides& sides) {
  model::Table table{.name = "Summary_Comparison",
                     .title = "Means over ranks; " + basis_title(pair.basis),
                     .columns = {{.name = "type"}}};
  append_columns(table, sides, pair.basis);
  for (const TimelineChange& change : compare_means(pair, sides.options.criterion)) {
    std::vector<Cell> row = {change.type};
    append_cells(row, change, pair.basis);
    table.add_row(std::move(row));
  }
  style_as_comparison(table, sides, kPercentChange);
  return table;
}

model::Table comparison_by_rank(const TimelinePair& pair, const Sides& sides) {
  model::Table table{.name = "Comparison_By_Rank",
                     .title = "Rank by rank; " + basis_title(pair.basis),
                     .columns = {{.name = "rank"}, {.name = "type"}}};
  append_columns(table, sides, pair.basis);
  for (const auto& [rank, changes] : compare_ranks(pair, sides.options.criterion)) {
    for (const TimelineChange& change : changes) {
      std::vector<Cell> row = {static_cast<std::int64_t>(rank), change.type};
      append_cells(row, change, pair.basis);
      table.add_row(std::move(row));
    }
  }
  style_as_comparison(table, sides, kPercentChange);
  return table;
}

// The rows that answer the one question of a comparison, each in its way.
bool is_headline(const std::string& type) {
  return type == kTotalTime || type == kAllSteps;
}

void judge_parts_together(std::vector<TimelineChange>& changes, const Criterion& criterion) {
  std::vector<Change*> family;
  for (TimelineChange& change : changes)
    if (!is_headline(change.type)) family.push_back(&change.time_ms);
  judge_together(family, criterion);
}

}  // namespace

std::string timeline_verdict(const Change& change, Basis basis) {
  if (basis.repetition == Repetition::kNone && change.verdict == Verdict::kUnknown)
    return "Unknown: no steps";
  return verdict_text(change, noun(basis.repetition));
}

std::vector<TimelineChange> compare_series(const SeriesByType& baseline,
                                           const SeriesByType& test,
                                           const Criterion& criterion) {
  std::vector<TimelineChange> changes;
  for (const std::string& type : reading_order(baseline, test)) {
    const TimelineSeries& b = series_of(baseline, type);
    const TimelineSeries& t = series_of(test, type);
    changes.push_back(
        {.type = type,
         .time_ms = measure_change(b.time_ms, t.time_ms, timeline_direction(type), criterion),
         .baseline_percent = core::mean(b.percent),
         .test_percent = core::mean(t.percent)});
  }
  return changes;
}

std::vector<TimelineChange> compare_means(const TimelinePair& pair, const Criterion& criterion) {
  const Repetition repetition = pair.basis.repetition;
  const Criterion by_evidence = with_evidence(criterion, repetition);
  std::vector<TimelineChange> changes =
      compare_series(mean_over_ranks(pair.baseline, repetition),
                     mean_over_ranks(pair.test, repetition), by_evidence);
  judge_parts_together(changes, by_evidence);
  return changes;
}

const TimelineChange* headline(const std::vector<TimelineChange>& changes) {
  const auto found = std::find_if(changes.begin(), changes.end(), [](const TimelineChange& change) {
    return change.type == kTotalTime;
  });
  return found == changes.end() ? nullptr : &*found;
}

std::map<int, std::vector<TimelineChange>> compare_ranks(const TimelinePair& pair,
                                                         const Criterion& criterion) {
  std::map<int, SeriesByType> baseline = by_rank(pair.baseline, pair.basis.repetition);
  std::map<int, SeriesByType> test = by_rank(pair.test, pair.basis.repetition);
  for (const auto& [rank, series] : test)
    baseline.try_emplace(rank);
  const Criterion by_evidence = with_evidence(criterion, pair.basis.repetition);
  std::map<int, std::vector<TimelineChange>> ranks;
  for (const auto& [rank, series] : baseline)
    ranks[rank] = compare_series(series, test[rank], by_evidence);
  // Whether the ranks agree on the headline is one question, what happens within them another.
  std::map<std::string, std::vector<Change*>> families;
  for (auto& [rank, changes] : ranks)
    for (TimelineChange& change : changes)
      families[is_headline(change.type) ? change.type : ""].push_back(&change.time_ms);
  for (const auto& [name, family] : families)
    judge_together(family, by_evidence);
  return ranks;
}

model::Book timeline_comparison(const Sides& sides) {
  if (sides.options.compat == Compat::kTraceLens) return tracelens_timeline_comparison(sides);
  const TimelinePair pair = timeline_pair(sides);
  model::Book book{.title = sides.test.label + " against " + sides.baseline.label};
  book.tables.push_back(summary_comparison(pair, sides));
  book.tables.push_back(comparison_by_rank(pair, sides));
  if (pair.basis.window == Basis::Window::kStep) book.tables.push_back(steps_of_sides(sides));
  for (model::Table& table : combined_timelines(sides).tables)
    book.tables.push_back(std::move(table));
  return book;
}

}  // namespace assay::trace
