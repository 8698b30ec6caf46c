#include "sweep/summary.h"

#include <fmt/core.h>

#include <limits>
#include <map>

#include "core/counted.h"
#include "core/output_file.h"
#include "core/statistics.h"
#include "report/book.h"
#include "sweep/command_line.h"
#include "sweep/sweep_folder.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;
using model::Cell;
using model::cell_of;

// Nothing is cut in the file: an error's reason stands at its end.
constexpr std::size_t kTextColumns = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kPathColumns = 2;  // the last columns of the runs: folder, started

std::string traces_text(const TraceCheck& traces) {
  if (traces.expected == 0) return "none";
  return fmt::format("{} of {}", traces.whole, traces.expected);
}

std::string title_of(const Plan& plan, const RunRecord& record) {
  return plan.repeats == 1 ? record.setting
                           : fmt::format("{} repeat {}", record.setting, record.repeat);
}

model::Table runs_table(std::span<const RunRecord> records, const fs::path& folder) {
  model::Table table{
      .name = "runs",
      .title = "Runs, in the order of the sweep",
      .columns = {{.name = "run",
                   .description = "position in the sweep's random order; a run that was made "
                                  "again started later"},
                  {.name = "setting"},
                  {.name = "repeat"},
                  {.name = "status", .description = "ok, failed, hung, no traces or bad traces"},
                  {.name = "duration (s)", .unit = "s"},
                  {.name = "exit code"},
                  {.name = "whole traces", .description = "of the ranks that the run has"},
                  {.name = "detail"},
                  {.name = "folder", .description = "traces, output and record, below the sweep's"},
                  {.name = "started", .description = "local time"}}};
  for (const RunRecord& record : records) {
    Cell exit_code;
    if (record.signal == 0) exit_code.emplace<std::int64_t>(record.exit_code);
    table.add_row({std::int64_t{record.position}, record.setting, std::int64_t{record.repeat},
                   std::string(status_text(record.status)), record.duration_s, exit_code,
                   traces_text(record.traces), record.detail,
                   record.folder.lexically_relative(folder).string(), record.started});
  }
  return table;
}

model::Table settings_table(const Plan& plan, std::span<const RunRecord> records) {
  model::Table table{.name = "settings",
                     .title = "Settings: duration of the runs that went well, start to end",
                     .columns = {{.name = "setting"},
                                 {.name = "ok"},
                                 {.name = "runs"},
                                 {.name = "median (s)", .unit = "s"},
                                 {.name = "min (s)", .unit = "s"},
                                 {.name = "max (s)", .unit = "s"},
                                 {.name = "variables"}}};
  for (const Setting& setting : plan.settings) {
    std::vector<double> durations;
    std::int64_t runs = 0;
    for (const RunRecord& record : records) {
      if (record.setting != setting.name) continue;
      ++runs;
      if (record.status == RunStatus::kOk) durations.push_back(record.duration_s);
    }
    table.add_row({setting.name, static_cast<std::int64_t>(durations.size()), runs,
                   cell_of(core::median(durations)), cell_of(core::minimum(durations)),
                   cell_of(core::maximum(durations)), variables_text(setting.variables)});
  }
  return table;
}

const RunRecord* first_good(std::span<const RunRecord> records) {
  for (const RunRecord& record : records)
    if (record.status == RunStatus::kOk) return &record;
  return nullptr;
}

// Lists each warning once, with the runs that it applies to.
class WarningList {
 public:
  void add(const std::string& warning, const std::string& run) {
    auto [found, is_new] = runs_.try_emplace(warning);
    if (is_new) order_.push_back(warning);
    found->second += (is_new ? "" : "; ") + run;
  }

  [[nodiscard]] model::Table table() const {
    model::Table table{.name = "warnings",
                       .title = "What makes runs doubtful",
                       .columns = {{.name = "warning"}, {.name = "runs"}}};
    for (const std::string& warning : order_)
      table.add_row({warning, runs_.at(warning)});
    return table;
  }

 private:
  std::map<std::string, std::string> runs_;
  std::vector<std::string> order_;
};

model::Table warnings_table(const Plan& plan, std::span<const RunRecord> records) {
  WarningList warnings;
  const RunRecord* reference = first_good(records);
  for (const RunRecord& record : records) {
    for (const std::string& warning : record.seen.warnings)
      warnings.add(warning, title_of(plan, record));
    if (reference == nullptr || record.status != RunStatus::kOk) continue;
    for (const auto& difference : model::differences(reference->seen.facts, record.seen.facts))
      warnings.add(fmt::format("{} differs: {}, and {} in {}", difference.item, difference.second,
                               difference.first, title_of(plan, *reference)),
                   title_of(plan, record));
  }
  return warnings.table();
}

}  // namespace

model::Book summary(const Plan& plan, std::span<const RunRecord> records, const fs::path& folder) {
  model::Book book{.title = "Sweep " + folder.string()};
  model::Table runs = runs_table(records, folder);
  runs.notes = {
      shell_text(plan.command),
      fmt::format(
          "{} of {} done; order by seed {}", records.size(),
          core::counted(plan.settings.size() * static_cast<std::size_t>(plan.repeats), "run"),
          plan.seed)};
  book.tables.push_back(std::move(runs));
  book.tables.push_back(settings_table(plan, records));
  const RunRecord* reference = first_good(records);
  if (reference != nullptr && !reference->seen.facts.empty()) {
    book.tables.push_back(model::facts_table(reference->seen.facts));
    book.tables.back().title += " (" + title_of(plan, *reference) + ")";
  }
  model::Table warnings = warnings_table(plan, records);
  if (warnings.row_count() > 0) book.tables.push_back(std::move(warnings));
  return book;
}

model::Book for_terminal(const model::Book& summary) {
  const model::Table& runs = summary.tables.front();
  const std::size_t width = runs.columns.size() - kPathColumns;
  model::Table narrow = runs;
  narrow.columns.resize(width);
  narrow.cells.clear();
  for (std::size_t row = 0; row < runs.row_count(); ++row) {
    std::vector<Cell> cells;
    for (std::size_t column = 0; column < width; ++column)
      cells.push_back(runs.at(row, column));
    narrow.add_row(std::move(cells));
  }
  return {.title = summary.title, .tables = {std::move(narrow), summary.tables[1]}};
}

core::Status write_summary(const model::Book& summary, const fs::path& folder) {
  const auto write = [&](const char* extension, const std::string& text) {
    return core::write_file(folder / (std::string(kSummaryName) + extension), text,
                            core::Durability::kUnsynced);
  };
  std::string text;
  for (const model::Table& table : summary.tables)
    text += (text.empty() ? "" : "\n") + report::text_table(table, kTextColumns, table.row_count());
  ASSAY_TRY(write(".txt", text));
  ASSAY_TRY(write(".json", report::json(summary)));
  return write(".csv", report::csv(summary.tables.front()));
}

}  // namespace assay::sweep
