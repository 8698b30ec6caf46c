// The answer of a comparison as tables and sentences.
#include <fmt/core.h>

#include "core/counted.h"
#include "store/judging/diff.h"

namespace assay::store {
namespace {

model::Table compared_tables(const std::vector<TableDiff>& diffs, double threshold) {
  model::Table table{
      .name = "tables",
      .title = "Rows of A and B, compared",
      .columns = {{.name = "table"},
                  {.name = "A", .description = "rows"},
                  {.name = "B", .description = "rows"},
                  {.name = "only A"},
                  {.name = "only B"},
                  {.name = "ambiguous", .description = "keys of several rows, not compared"},
                  {.name = "both", .description = "rows that both have"},
                  {.name = "compared", .description = "of these: both have a latency"},
                  {.name = "differ", .description = "of those compared: not the same number"},
                  {.name = "p10"},
                  {.name = "median"},
                  {.name = "p90"},
                  {.name = "slower", .description = "rows of B, by more than the tolerance"},
                  {.name = "faster", .description = "rows of B, by more than the tolerance"},
                  {.name = "beyond", .unit = "%"}}};
  table.notes.push_back(fmt::format(
      "p10, median, p90: ratios B / A of latencies; slower, faster: B, by more than {:g} %; "
      "beyond: both, of the rows compared",
      100 * threshold));
  for (const TableDiff& diff : diffs) {
    table.add_row({diff.table, diff.a_rows, diff.b_rows, diff.only_a, diff.only_b, diff.ambiguous,
                   diff.both, diff.compared, diff.different, model::cell_of(diff.p10_ratio),
                   model::cell_of(diff.median_ratio), model::cell_of(diff.p90_ratio), diff.slower,
                   diff.faster, 100 * diff.share_beyond()});
  }
  return table;
}

model::Table conditions_table(const std::vector<TableDiff>& diffs) {
  model::Table table{
      .name = "conditions",
      .title = "Rows compared that A and B measured in other ways",
      .columns = {
          {.name = "table"}, {.name = "what"}, {.name = "A"}, {.name = "B"}, {.name = "rows"}}};
  for (const TableDiff& diff : diffs) {
    for (const ConditionDiff& one : diff.conditions)
      table.add_row({diff.table, one.condition, one.a, one.b, one.rows});
  }
  return table;
}

model::Table worst_table(const std::vector<RowDiff>& worst) {
  model::Table table{.name = "worst",
                     .title = "Rows that differ most",
                     .columns = {{.name = "table"},
                                 {.name = "A", .unit = "ms"},
                                 {.name = "B", .unit = "ms"},
                                 {.name = "ratio"},
                                 {.name = "row"}}};
  for (const RowDiff& row : worst)
    table.add_row({row.table, row.a_ms, row.b_ms, model::cell_of(row.ratio), row.key});
  return table;
}

model::Table single_table(const std::vector<TableDiff>& diffs) {
  model::Table table{.name = "single",
                     .title = "Rows that only one side has, first examples",
                     .columns = {{.name = "table"}, {.name = "only in"}, {.name = "row"}}};
  for (const TableDiff& diff : diffs) {
    for (const std::string& key : diff.example_only_a)
      table.add_row({diff.table, "A", key});
    for (const std::string& key : diff.example_only_b)
      table.add_row({diff.table, "B", key});
  }
  return table;
}

}  // namespace

std::vector<model::Table> diff_tables(const DiffResult& result, double threshold) {
  std::vector<model::Table> tables{compared_tables(result.tables, threshold)};
  model::Table conditions = conditions_table(result.tables);
  if (!conditions.cells.empty()) tables.push_back(std::move(conditions));
  if (!result.worst.empty()) tables.push_back(worst_table(result.worst));
  model::Table single = single_table(result.tables);
  if (!single.cells.empty()) tables.push_back(std::move(single));
  return tables;
}

std::vector<std::string> diff_without_latencies(const DiffResult& result) {
  std::vector<std::string> found;
  for (const TableDiff& diff : result.tables) {
    if (diff.both == 0 || diff.compared > 0) continue;
    const std::string rows =
        core::counted(diff.both, "row of both sides lacks", "rows of both sides lack");
    found.push_back(
        fmt::format("{}: no latency was compared: {} one; what is equal is their other columns",
                    diff.table, rows));
  }
  return found;
}

std::vector<std::string> diff_ambiguous(const DiffResult& result) {
  std::vector<std::string> found;
  for (const TableDiff& diff : result.tables) {
    if (diff.ambiguous == 0) continue;
    found.push_back(fmt::format(
        "{}: {} several rows of a side with unequal times, of which none is compared: {}",
        diff.table, core::counted(diff.ambiguous, "key has", "keys have"), diff.example_ambiguous));
  }
  return found;
}

std::vector<std::string> diff_failures(const DiffResult& result,
                                       double threshold,
                                       const DiffLimits& limits) {
  std::vector<std::string> failures;
  for (const TableDiff& diff : result.tables) {
    const auto add = [&](double share, double most, const std::string& what) {
      failures.push_back(fmt::format(
          "{}: {:.2f} % of {} by more than {:g} % ({} slower, {} "
          "faster); {:g} % may",
          diff.table, 100 * share, what, 100 * threshold, diff.slower, diff.faster, 100 * most));
    };
    if (limits.share && diff.share_beyond() > *limits.share)
      add(diff.share_beyond(), *limits.share,
          core::counted(diff.compared, "row differs", "rows differ"));
    if (limits.slower && diff.share_slower() > *limits.slower)
      add(diff.share_slower(), *limits.slower,
          core::counted(diff.compared, "row is slower", "rows are slower"));
    for (const std::optional<double>& limit : {limits.share, limits.slower}) {
      if (!limit || diff.share_ambiguous() <= *limit) continue;
      failures.push_back(
          fmt::format("{}: {} not compared, since several rows have {}, beside {} that {}; {:g} % "
                      "may",
                      diff.table, core::counted(diff.ambiguous, "key is", "keys are"),
                      diff.ambiguous == 1 ? "it" : "each", diff.compared,
                      diff.compared == 1 ? "is" : "are", 100 * *limit));
      break;
    }
  }
  return failures;
}

}  // namespace assay::store
