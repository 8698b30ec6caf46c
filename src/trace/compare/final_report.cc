#include "trace/compare/final_report.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "trace/compare/change.h"
#include "trace/compare/change_columns.h"
#include "trace/compare/combine.h"
#include "trace/compare/phases.h"
#include "trace/compare/rows.h"
#include "trace/compare/timeline_comparison.h"
#include "trace/compare/timeline_words.h"
#include "trace/compare/tracelens_comparison.h"
#include "trace/compare/workbook_charts.h"

namespace assay::trace {
namespace {

constexpr std::size_t kSheetNameLimit = 31;  // Excel's limit

struct SheetOrigin {
  const char* name;    // name in the final report
  const char* source;  // name in the comparison's book
  model::Visibility shown;
};

constexpr auto kHidden = model::Visibility::kHidden;
constexpr auto kVisible = model::Visibility::kVisible;

constexpr std::array<SheetOrigin, 8> kTimelineSheets = {{
    {"GPU_Summary_Raw", "Summary", kHidden},
    {"GPU_AllRanks_Raw", "All_Ranks_Combined", kHidden},
    {"GPU_Time_Raw", "Per_Rank_Time_ms", kHidden},
    {"GPU_Pct_Raw", "Per_Rank_Percent", kHidden},
    {"GPU_Steps_Raw", "Per_Step", kHidden},
    {"GPU_ByRank_Cmp", "Comparison_By_Rank", kVisible},
    {"GPU_Summary_Cmp", "Summary_Comparison", kVisible},
    {"GPU_Steps", "Steps", kVisible},
}};

constexpr std::array<SheetOrigin, 2> kCollectiveRaw = {{
    {"NCCL_ImplSync_Raw", "nccl_summary_implicit_sync", kHidden},
    {"NCCL_Long_Raw", "nccl_summary_long", kHidden},
}};

constexpr std::array<SheetOrigin, 3> kCollectiveComparisons = {{
    {"NCCL_ImplSync_Cmp", "nccl_implicit_sync_cmp", kVisible},
    {"NCCL_All2Allv_Cmp", "nccl_all2allv_cmp", kVisible},
    {"NCCL_Long_Cmp", "nccl_long_cmp", kVisible},
}};

template <std::size_t N>
void add_sheets(model::Book& report,
                const model::Book& from,
                const std::array<SheetOrigin, N>& sheets) {
  for (const SheetOrigin& sheet : sheets)
    if (const model::Table* table = from.find(sheet.source))
      report.tables.push_back(renamed(*table, sheet.name, sheet.shown));
}

bool has_own_name(const std::string& source) {
  for (const SheetOrigin& sheet : kCollectiveRaw)
    if (source == sheet.source) return true;
  return false;
}

void add_other_summaries(model::Book& report, const model::Book& collective) {
  for (const model::Table& table : collective.tables) {
    if (table.name.find("summary") == std::string::npos || has_own_name(table.name)) continue;
    report.tables.push_back(
        renamed(table, ("NCCL_" + table.name + "_Raw").substr(0, kSheetNameLimit), kHidden));
  }
}

constexpr const char* kLessBy = "Less by (%)";
constexpr const char* kVerdict = "Verdict";

std::vector<model::Column> dashboard_columns(const Sides& sides, Repetition repetition) {
  const std::string interval =
      fmt::format("{:.3g} % CI ", 100 * sides.options.criterion.confidence);
  const std::string repetitions = std::string(" ") + noun(repetition) + "s";
  return {{.name = "Metric"},
          {.name = sides.baseline.label + " (ms)", .unit = "ms", .description = "the baseline"},
          {.name = sides.test.label + " (ms)", .unit = "ms", .description = "the test"},
          {.name = "Difference (ms)", .unit = "ms", .description = "test - baseline"},
          {.name = kLessBy,
           .unit = "%",
           .better = model::Better::kHigher,
           .description = "of the baseline; positive: the test takes less"},
          {.name = interval + "low (%)", .unit = "%", .description = "of the column before"},
          {.name = interval + "high (%)", .unit = "%"},
          {.name = kVerdict, .description = status_meaning(sides.options.criterion)},
          {.name = sides.baseline.label + repetitions},
          {.name = sides.test.label + repetitions},
          {.name = "In words"}};
}

std::vector<model::Cell> dashboard_row(const TimelineChange& change,
                                       Basis basis,
                                       const Criterion& criterion) {
  const Change& time = change.time_ms;
  std::vector<model::Cell> row = {"GPU_" + change.type};
  for (const double value : {time.baseline, time.test, time.difference, time.percent,
                             time.percent_low, time.percent_high})
    row.push_back(cell_of(value));
  row.emplace_back(timeline_verdict(time, basis));
  row.emplace_back(repetition_count(time.baseline_count, basis.repetition));
  row.emplace_back(repetition_count(time.test_count, basis.repetition));
  row.emplace_back(in_words(change, basis, criterion));
  return row;
}

// Draws a bar for each side, made of the parts that add up to its time.
std::optional<model::Chart> parts_chart(const std::vector<TimelineChange>& changes,
                                        Basis basis,
                                        const Sides& sides) {
  const TimelineChange* total = headline(changes);
  if (total == nullptr || std::isnan(total->time_ms.difference)) return std::nullopt;
  const bool step = basis.window == Basis::Window::kStep;
  model::Chart chart{
      .title = fmt::format("{} takes {} ms with {} and {} ms with {}",
                           step ? "A step" : "The profiled window",
                           three_digits(total->time_ms.test), sides.test.label,
                           three_digits(total->time_ms.baseline), sides.baseline.label),
      .axis = step ? "ms per step, mean over ranks" : "ms, mean over ranks",
      .columns = {sides.baseline.label + " (ms)", sides.test.label + " (ms)"}};
  for (std::size_t row = 0; row < changes.size(); ++row)
    if (is_part(changes[row].type)) chart.rows.push_back(row);
  return chart;
}

// Opens with the title, the names of the runs, the answer, the reasons, the next step and a chart,
// followed by one row for each figure of the timeline.
model::Table dashboard(const Sides& sides, const Answer& answer) {
  const TimelinePair pair = timeline_pair(sides);
  const std::vector<TimelineChange> changes = compare_means(pair, sides.options.criterion);
  model::Table table{.name = "Summary_Dashboard",
                     .title = sides.test.label + " against " + sides.baseline.label,
                     .columns = dashboard_columns(sides, pair.basis.repetition),
                     .notes = {answer.compared, answer.lines.front().answer}};
  for (const AnswerLine& line : answer.lines)
    if (line.question == kWhyQuestion || line.question == kNextQuestion ||
        (line.question == kSteadyQuestion && line.answer.starts_with("No")) ||
        line.question == kHostQuestion)
      table.notes.push_back(line.question + " " + line.answer);
  table.style.verdict_column = kVerdict;
  table.style.judged_columns = {kLessBy};
  table.style.opens_with_text = true;
  table.style.chart = parts_chart(changes, pair.basis, sides);
  for (const TimelineChange& change : changes)
    table.add_row(dashboard_row(change, pair.basis, sides.options.criterion));
  return table;
}

struct ShownColumn {
  std::size_t column;   // column of the dashboard
  const char* heading;  // nullptr for the dashboard's own heading
};

// The columns that fit a terminal 100 columns wide: all but the difference, the counts and the
// words.
constexpr std::array<ShownColumn, 7> kOnTerminal = {{{0, "time per steady step"},
                                                     {1, nullptr},
                                                     {2, nullptr},
                                                     {4, "less by (%)"},
                                                     {5, "low (%)"},
                                                     {6, "high (%)"},
                                                     {7, "verdict"}}};

model::Table tracelens_terminal_summary(model::Table dashboard, const Sides& sides) {
  const std::string headings[] = {"time per step", sides.baseline.label + " ms",
                                  sides.test.label + " ms", "better by %", "status"};
  for (std::size_t column = 0; column < dashboard.columns.size(); ++column)
    dashboard.columns[column] = {.name = headings[column]};
  return dashboard;
}

}  // namespace

model::Book final_report(const Sides& sides,
                         const model::Book& timeline,
                         const model::Book& collective,
                         const Answer& answer) {
  model::Book report{.title = sides.test.label + " against " + sides.baseline.label};
  if (sides.options.compat == Compat::kTraceLens) {
    report.tables.push_back(tracelens_dashboard(sides, timeline.find("Summary_Comparison")));
  } else {
    report.tables.push_back(dashboard(sides, answer));
    report.tables.push_back(answer_table(answer));
    const std::vector<PhaseChange> phases = compare_phases(sides);
    if (!phases.empty()) report.tables.push_back(phases_table(phases, sides));
    if (model::Table composition = composition_table(sides); composition.row_count() > 0)
      report.tables.push_back(std::move(composition));
  }
  add_sheets(report, timeline, kTimelineSheets);
  add_sheets(report, collective, kCollectiveRaw);
  add_other_summaries(report, collective);
  add_sheets(report, collective, kCollectiveComparisons);
  if (sides.options.compat == Compat::kNone) add_charts(report);
  // An Excel table needs at least one row.
  for (model::Table& table : report.tables)
    table.style.excel_table = table.row_count() > 0;
  if (sides.options.compat == Compat::kTraceLens) pass_through_workbook(report);
  return report;
}

model::Table terminal_summary(const model::Table& dashboard,
                              const Answer& answer,
                              const Sides& sides) {
  if (sides.options.compat == Compat::kTraceLens)
    return tracelens_terminal_summary(dashboard, sides);
  model::Table summary{.name = "summary", .title = answer.lines.front().answer, .columns = {}};
  for (std::size_t i = 1; i < answer.lines.size(); ++i)
    summary.notes.push_back(answer.lines[i].question + " " + answer.lines[i].answer);
  for (const auto& [column, heading] : kOnTerminal)
    summary.columns.push_back(
        {.name = heading == nullptr ? dashboard.columns[column].name : std::string(heading)});
  summary.style.verdict_column = "verdict";
  for (std::size_t row = 0; row < dashboard.row_count(); ++row) {
    std::vector<model::Cell> cells;
    for (const ShownColumn& shown : kOnTerminal)
      cells.push_back(dashboard.at(row, shown.column));
    summary.add_row(std::move(cells));
  }
  return summary;
}

}  // namespace assay::trace
