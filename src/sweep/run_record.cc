#include "sweep/run_record.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "report/book.h"

namespace assay::sweep {
namespace {

constexpr const char* kRunTable = "run";
constexpr const char* kWarningTable = "warnings";
constexpr const char* kNotAppliedTable = "not_applied";
constexpr const char* kNotReadTable = "not_read";

constexpr std::array<std::pair<RunStatus, const char*>, 5> kStatusTexts{{
    {RunStatus::kOk, "ok"},
    {RunStatus::kFailed, "failed"},
    {RunStatus::kHung, "hung"},
    {RunStatus::kNoTraces, "no traces"},
    {RunStatus::kBadTraces, "bad traces"},
}};

model::Table run_table(const RunRecord& record) {
  model::Table table{.name = kRunTable,
                     .title = "One run of a sweep",
                     .columns = {{.name = "item"}, {.name = "value"}, {.name = "unit"}}};
  const auto add = [&](const char* item, model::Cell value, const char* unit = "") {
    table.add_row({std::string(item), std::move(value), std::string(unit)});
  };
  add("setting", record.setting);
  add("repeat", std::int64_t{record.repeat});
  add("position", std::int64_t{record.position});
  add("status", std::string(status_text(record.status)));
  add("detail", record.detail);
  add("exit code", std::int64_t{record.exit_code});
  add("signal", std::int64_t{record.signal});
  add("started", record.started);
  add("duration", record.duration_s, "s");
  add("whole traces", std::int64_t{record.traces.whole});
  add("expected traces", std::int64_t{record.traces.expected});
  add("trace problem", record.traces.problem);
  return table;
}

model::Table text_table(const char* name,
                        const char* title,
                        const char* column,
                        const std::vector<std::string>& texts) {
  model::Table table{.name = name, .title = title, .columns = {{.name = column}}};
  for (const std::string& text : texts)
    table.add_row({text});
  return table;
}

std::vector<std::string> texts_of(const model::Table* table) {
  std::vector<std::string> texts;
  for (std::size_t row = 0; table != nullptr && row < table->row_count(); ++row)
    texts.push_back(model::text(table->at(row, 0)));
  return texts;
}

// Reads values from a table with the columns item and value.
class Items {
 public:
  explicit Items(const model::Table& table) : table_(table) {}

  [[nodiscard]] std::string text(std::string_view item) const { return model::text(cell(item)); }

  [[nodiscard]] double number(std::string_view item) const {
    const double value = model::number(cell(item));
    return std::isnan(value) ? 0 : value;
  }

  [[nodiscard]] int integer(std::string_view item) const {
    const auto* value = std::get_if<std::int64_t>(&cell(item));
    return value == nullptr ? 0 : static_cast<int>(*value);
  }

 private:
  [[nodiscard]] const model::Cell& cell(std::string_view item) const {
    static const model::Cell none;
    for (std::size_t row = 0; row < table_.row_count(); ++row)
      if (model::text(table_.at(row, 0)) == item) return table_.at(row, 1);
    return none;
  }

  const model::Table& table_;
};

core::Result<RunStatus> status_of(const std::string& text) {
  for (const auto& [status, name] : kStatusTexts)
    if (text == name) return status;
  return core::Error{fmt::format("unknown status '{}'", text)};
}

core::Result<RunRecord> record_of(const model::Book& book) {
  const model::Table* table = book.find(kRunTable);
  if (table == nullptr || table->columns.size() < 2) return core::Error{"no table 'run'"};
  const Items items(*table);
  RunRecord record;
  record.setting = items.text("setting");
  record.repeat = items.integer("repeat");
  record.position = items.integer("position");
  record.status = ASSAY_TRY(status_of(items.text("status")));
  record.detail = items.text("detail");
  record.exit_code = items.integer("exit code");
  record.signal = items.integer("signal");
  record.started = items.text("started");
  record.duration_s = items.number("duration");
  record.traces.whole = items.integer("whole traces");
  record.traces.expected = items.integer("expected traces");
  record.traces.problem = items.text("trace problem");
  record.seen.facts = model::facts_of(book.find(model::kEnvironmentTable));
  record.seen.warnings = texts_of(book.find(kWarningTable));
  record.seen.not_applied = texts_of(book.find(kNotAppliedTable));
  record.seen.not_read = texts_of(book.find(kNotReadTable));
  return record;
}

}  // namespace

const char* status_text(RunStatus status) {
  for (const auto& [known, text] : kStatusTexts)
    if (known == status) return text;
  ASSAY_CHECK(false, "a run status without a text");
  return "";
}

core::Status write_record(const RunRecord& record, const std::filesystem::path& folder) {
  model::Book book{.title = "Run of " + record.setting,
                   .tables = {run_table(record), model::facts_table(record.seen.facts),
                              text_table(kWarningTable, "What makes the run doubtful", "warning",
                                         record.seen.warnings)}};
  if (!record.seen.not_applied.empty())
    book.tables.push_back(text_table(kNotAppliedTable, "What reached no process that loaded NCCL",
                                     "variable", record.seen.not_applied));
  if (!record.seen.not_read.empty())
    book.tables.push_back(text_table(kNotReadTable, "What no loaded library reads", "variable",
                                     record.seen.not_read));
  return report::write_json(book, folder / model::kRunRecordFile);
}

core::Result<RunRecord> read_record(const std::filesystem::path& folder) {
  const auto record = record_of(ASSAY_TRY(report::read_json(folder / model::kRunRecordFile)));
  if (!record.ok()) return record.error().context((folder / model::kRunRecordFile).string());
  RunRecord result = record.value();
  result.folder = folder;
  return result;
}

}  // namespace assay::sweep
