#include "store/judging/rerun.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/counted.h"
#include "core/statistics.h"
#include "core/text.h"

namespace assay::store {
namespace {

constexpr std::size_t kWorst = 10;  // points that a report shows

// A point without a deviation is worse than any point that has one.
double severity(const Rerun& rerun) {
  return deviation(rerun).value_or(std::numeric_limits<double>::infinity());
}

RerunResult compare(const std::string& table,
                    const std::vector<const Rerun*>& reruns,
                    double limit) {
  RerunResult result{.table = table, .points = static_cast<std::int64_t>(reruns.size())};
  std::vector<double> deviations;
  for (const Rerun* rerun : reruns) {
    if (severity(*rerun) > limit) ++result.beyond;
    if (!rerun->second_ms) ++result.lost;
    if (const auto known = deviation(*rerun)) deviations.push_back(*known);
  }
  if (deviations.empty()) return result;
  result.median = core::median(deviations);
  result.p90 = core::quantile(deviations, 0.9);
  result.worst = *std::max_element(deviations.begin(), deviations.end());
  return result;
}

using RowsOfCases = std::unordered_map<std::string, std::vector<StoredRow>>;

RowsOfCases by_case(std::vector<StoredRow> rows) {
  RowsOfCases grouped;
  for (StoredRow& row : rows)
    grouped[row.case_id].push_back(std::move(row));
  return grouped;
}

const StoredRow* find_same(const std::vector<StoredRow>& rows, const StoredRow& wanted) {
  const auto what = [](const StoredRow& row) { return std::tie(row.table, row.op_name, row.key); };
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const StoredRow& row) { return what(row) == what(wanted); });
  return found == rows.end() ? nullptr : &*found;
}

std::string remark_of(const StoredRow& first, const StoredRow& second) {
  std::vector<std::string> parts;
  if (first.kernel_source != second.kernel_source) {
    parts.push_back(fmt::format("{}, was {}", second.kernel_source, first.kernel_source));
  }
  if (first.is_unsteady) parts.emplace_back("unsteady then");
  if (second.is_unsteady) parts.emplace_back("unsteady now");
  return core::join(parts, "; ");
}

Rerun pair_of(const StoredRow& first, const StoredRow* second) {
  Rerun pair{
      .table = first.table, .where = first.case_id, .first_ms = first.latency_ms, .second_ms = {}};
  if (second == nullptr) {
    pair.remark = "lost";
  } else {
    pair.second_ms = second->latency_ms;
    pair.remark = remark_of(first, *second);
  }
  return pair;
}

model::Cell percent_cell(const std::optional<double>& part) {
  return part ? model::Cell(*part * 100) : model::Cell();
}

model::Table shares_table(const std::string& started_at) {
  return {.name = "rerun",
          .title = fmt::format("Points of the collection of {}, measured again", started_at),
          .columns = {{.name = "table"},
                      {.name = "points"},
                      {.name = "beyond"},
                      {.name = "lost"},
                      {.name = "share", .unit = "%", .better = model::Better::kLower},
                      {.name = "median", .unit = "%", .better = model::Better::kLower},
                      {.name = "p90", .unit = "%", .better = model::Better::kLower},
                      {.name = "worst", .unit = "%", .better = model::Better::kLower},
                      {.name = "result", .description = "against --max-share"}},
          .notes = {"median, p90, worst: difference of the two times, as a part of the first",
                    fmt::format("beyond: differ by more than {:g} %, or lost: could not be "
                                "measured again",
                                kRerunLimit * 100)}};
}

model::Table worst_table(const std::vector<Rerun>& worst) {
  model::Table table{.name = "rerun_worst",
                     .title = "Points beyond the limit, the worst first",
                     .columns = {{.name = "differs", .unit = "%"},
                                 {.name = "then", .unit = "ms"},
                                 {.name = "now", .unit = "ms"},
                                 {.name = "case"},
                                 {.name = "remark"}}};
  for (const Rerun& point : worst) {
    const model::Cell now = point.second_ms ? model::Cell(*point.second_ms) : model::Cell();
    table.add_row({percent_cell(deviation(point)), point.first_ms, now, point.where, point.remark});
  }
  return table;
}

}  // namespace

std::optional<double> deviation(const Rerun& rerun) {
  if (!rerun.second_ms || !std::isfinite(*rerun.second_ms)) return std::nullopt;
  if (*rerun.second_ms == rerun.first_ms) return 0;
  if (!(rerun.first_ms > 0)) return std::nullopt;
  return std::abs(*rerun.second_ms / rerun.first_ms - 1);
}

std::vector<RerunResult> compare_reruns(const std::vector<Rerun>& reruns, double limit) {
  std::map<std::string, std::vector<const Rerun*>> by_table;
  for (const Rerun& rerun : reruns)
    by_table[rerun.table].push_back(&rerun);
  std::vector<RerunResult> results;
  for (const auto& [table, points] : by_table)
    results.push_back(compare(table, points, limit));
  return results;
}

std::vector<Rerun> worst_reruns(std::vector<Rerun> reruns, double limit, std::size_t most) {
  const auto is_within = [&](const Rerun& rerun) { return severity(rerun) <= limit; };
  reruns.erase(std::remove_if(reruns.begin(), reruns.end(), is_within), reruns.end());
  std::stable_sort(reruns.begin(), reruns.end(),
                   [](const Rerun& a, const Rerun& b) { return severity(a) > severity(b); });
  if (reruns.size() > most) reruns.resize(most);
  return reruns;
}

core::Result<std::vector<Rerun>> reruns_of(const Store& store,
                                           std::int64_t first,
                                           std::int64_t again) {
  const RowsOfCases rows_then = by_case(ASSAY_TRY(store.rows(first)));
  const RowsOfCases rows_now = by_case(ASSAY_TRY(store.rows(again)));
  std::vector<Rerun> pairs;
  for (const StoredCase& record : ASSAY_TRY(store.cases(again))) {
    const auto then = rows_then.find(record.id);
    if (then == rows_then.end()) continue;
    const auto now = rows_now.find(record.id);
    for (const StoredRow& row : then->second) {
      pairs.push_back(pair_of(row, now == rows_now.end() ? nullptr : find_same(now->second, row)));
      if (then->second.size() > 1) pairs.back().where += ": " + row.op_name;
    }
  }
  return pairs;
}

RerunReport rerun_report(const std::string& started_at,
                         const std::vector<Rerun>& reruns,
                         std::optional<double> max_share) {
  RerunReport report{.tables = {shares_table(started_at)}};
  for (const RerunResult& result : compare_reruns(reruns, kRerunLimit)) {
    const bool within = !max_share || result.share() <= *max_share;
    const std::string verdict = !max_share ? "" : within ? "passed" : "failed";
    report.tables.front().add_row({result.table, result.points, result.beyond, result.lost,
                                   result.share() * 100, percent_cell(result.median),
                                   percent_cell(result.p90), percent_cell(result.worst), verdict});
    if (within) continue;
    report.failures.push_back(
        fmt::format("{}: {} of {} measured again {} by more than {:g} %", result.table,
                    result.beyond, core::counted(result.points, "point"),
                    result.beyond == 1 ? "differs" : "differ", kRerunLimit * 100));
  }
  const std::vector<Rerun> worst = worst_reruns(reruns, kRerunLimit, kWorst);
  if (!worst.empty()) report.tables.push_back(worst_table(worst));
  return report;
}

}  // namespace assay::store
