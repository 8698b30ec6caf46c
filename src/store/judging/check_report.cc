#include "store/judging/check_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace assay::store {
namespace {

constexpr std::size_t kIntervals = 10;  // shown for each table

model::Table checked_table() {
  return {.name = "tables",
          .title = "Tables checked",
          .columns = {{.name = "table"},
                      {.name = "result"},
                      {.name = "rows"},
                      {.name = "groups", .description = "combinations of exact values"},
                      {.name = "holes"},
                      {.name = "duplicates"},
                      {.name = "far_apart", .description = "duplicates beyond --spread"},
                      {.name = "drops"},
                      {.name = "faster", .description = "than the roofline"},
                      {.name = "slow", .description = "far too slow"},
                      {.name = "zero"},
                      {.name = "unusable"},
                      {.name = "uncertain", .description = "less certain than was asked for"}}};
}

model::Table findings_table() {
  return {.name = "findings",
          .title = "What was found, with the worst of each",
          .columns = {{.name = "table"},
                      {.name = "weight"},
                      {.name = "finding"},
                      {.name = "count"},
                      {.name = "of"},
                      {.name = "share", .unit = "%"},
                      {.name = "worst", .unit = "%"},
                      {.name = "where"}}};
}

model::Table answers_errors_table() {
  return {
      .name = "answers",
      .title = "Error of answers for points that were left out, a tenth at a time",
      .columns = {{.name = "table"},
                  {.name = "left_out"},
                  {.name = "method"},
                  {.name = "points"},
                  {.name = "refused"},
                  {.name = "median", .unit = "%", .better = model::Better::kLower},
                  {.name = "p90", .unit = "%", .better = model::Better::kLower},
                  {.name = "inside",
                   .unit = "%",
                   .description = "of the points within their answer's 80 % interval"},
                  {.name = "inside_low", .unit = "%"},
                  {.name = "inside_high", .unit = "%"}},
      .notes = {"inside_low, inside_high: with 95 % that share lies there, since these are only "
                "so many points",
                "points: at random; curves: whole ones, as of a weight that was not measured; "
                "upper halves: of curves, which answers then extend; edges: all rows past a "
                "value of a quantity, up to 4 times"}};
}

const char* name_of(HoldOut left_out) {
  switch (left_out) {
    case HoldOut::kPoints:
      return "points";
    case HoldOut::kCurves:
      return "curves";
    case HoldOut::kUpperHalves:
      return "upper halves";
    case HoldOut::kEdges:
      return "edges";
  }
  return "";
}

model::Table held_out_table() {
  return {.name = "held_out",
          .title = "Error of points predicted from their neighbours without themselves",
          .columns = {{.name = "table"},
                      {.name = "size"},
                      {.name = "points"},
                      {.name = "median", .unit = "%", .better = model::Better::kLower},
                      {.name = "p95", .unit = "%", .better = model::Better::kLower},
                      {.name = "worst", .unit = "%", .better = model::Better::kLower},
                      {.name = "beyond_limit", .unit = "%", .better = model::Better::kLower},
                      {.name = "worst_at"}}};
}

model::Table intervals_table() {
  return {.name = "refine",
          .title = "Where to measure more points",
          .columns = {{.name = "table"},
                      {.name = "size"},
                      {.name = "from"},
                      {.name = "to"},
                      {.name = "held_out"},
                      {.name = "points"},
                      {.name = "beyond_limit"},
                      {.name = "median", .unit = "%"}},
          .notes = {"'held_out' lies between 'from' and 'to' and was predicted from them"}};
}

const char* name_of(Weight weight) {
  return weight == Weight::kProblem ? "problem" : "remark";
}

double percent(std::int64_t count, std::int64_t total) {
  return total == 0 ? 0 : 100.0 * static_cast<double>(count) / static_cast<double>(total);
}

// Sizes are whole numbers in every table.
std::int64_t whole(double size) {
  return static_cast<std::int64_t>(size);
}

}  // namespace

CheckReport::CheckReport()
    : checked_(checked_table()),
      findings_(findings_table()),
      answers_(answers_errors_table()),
      held_out_(held_out_table()),
      intervals_(intervals_table()) {}

void CheckReport::add(const std::string& name, const TableCheck& check) {
  passed_ &= !check.impossible();
  checked_.add_row({name, check.impossible() ? "failed" : "passed", check.rows, check.groups,
                    check.holes.count, check.duplicates.count, check.far_apart, check.drops.count,
                    check.faster.total > 0 ? model::Cell(check.faster.count) : "unknown",
                    check.slower.count, check.not_positive.count, check.unused.count,
                    check.uncertain.total > 0 ? model::Cell(check.uncertain.count) : "unknown"});
  for (const Finding& finding : findings_of(check))
    add_finding(name, finding);
}

void CheckReport::add_finding(const std::string& name, const Finding& finding) {
  const Found& found = finding.found;
  findings_.add_row({name, name_of(finding.weight), std::string(finding.name), found.count,
                     found.total, percent(found.count, found.total),
                     finding.has_worst ? model::Cell(found.worst * 100) : model::Cell(),
                     found.where});
  const std::string note = fmt::format("{}: {}", finding.name, finding.meaning);
  if (std::find(findings_.notes.begin(), findings_.notes.end(), note) == findings_.notes.end())
    findings_.notes.push_back(note);
  if (finding.weight == Weight::kProblem) {
    problems_.push_back(fmt::format("{}: {}: {} of {} ({}), {}", name, finding.name, found.count,
                                    found.total, finding.meaning, found.where));
  }
}

void CheckReport::add(const std::string& name,
                      HoldOut left_out,
                      const std::vector<AnswerErrors>& errors) {
  for (const AnswerErrors& of : errors) {
    answers_.add_row({name, name_of(left_out), of.method, of.points, of.refused,
                      model::cell_of(of.median * 100), model::cell_of(of.p90 * 100),
                      model::cell_of(of.inside_80 * 100), model::cell_of(of.range.low * 100),
                      model::cell_of(of.range.high * 100)});
  }
}

void CheckReport::add(const std::string& name, const HeldOut& held_out) {
  for (const HeldOutErrors& errors : held_out.by_column) {
    held_out_.add_row({name, errors.column, errors.points, errors.median * 100, errors.p95 * 100,
                       errors.worst * 100, errors.share_beyond * 100, errors.worst_at});
  }
  for (std::size_t i = 0; i < std::min(kIntervals, held_out.intervals.size()); ++i) {
    const Interval& interval = held_out.intervals[i];
    intervals_.add_row({name, interval.column, whole(interval.low), whole(interval.high),
                        interval.held_out, interval.points, interval.beyond,
                        interval.median * 100});
  }
}

void CheckReport::add(const CasesFound& cases) {
  findings_.add_row({cases.operator_name, name_of(cases.weight), cases.finding, cases.count,
                     cases.expected, percent(cases.count, cases.expected), model::Cell(),
                     std::string()});
  if (cases.weight == Weight::kRemark) return;
  passed_ = false;
  problems_.push_back(fmt::format("{}: {}: {} of {} that its newest collection expected",
                                  cases.operator_name, cases.finding, cases.count, cases.expected));
}

void CheckReport::add(std::vector<model::Table> tables) {
  std::move(tables.begin(), tables.end(), std::back_inserter(others_));
}

std::vector<model::Table> CheckReport::tables() const {
  std::vector<model::Table> tables{checked_, findings_, answers_, held_out_, intervals_};
  tables.insert(tables.end(), others_.begin(), others_.end());
  std::erase_if(tables, [](const model::Table& table) { return table.cells.empty(); });
  return tables;
}

}  // namespace assay::store
