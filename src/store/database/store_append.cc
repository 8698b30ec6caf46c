// Writes to a store: the cases of a collection, each with its outcome, its rows and how they were
// measured, and the rows of imported tables.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "core/interrupt.h"
#include "core/text.h"
#include "store/database/store_key.h"
#include "store/database/store_schema.h"
#include "store/files/frame.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

constexpr std::array<std::pair<CaseOutcome, const char*>, 3> kOutcomes{
    {{CaseOutcome::kMeasured, "measured"},
     {CaseOutcome::kSkipped, "skipped"},
     {CaseOutcome::kFailed, "failed"}}};

const char* name_of(CaseOutcome outcome) {
  for (const auto& [value, name] : kOutcomes) {
    if (value == outcome) return name;
  }
  return "";
}

CaseOutcome outcome_named(std::string_view text) {
  for (const auto& [value, name] : kOutcomes) {
    if (text == name) return value;
  }
  return CaseOutcome::kFailed;  // the schema allows no other words
}

std::string samples_blob(const std::vector<double>& samples_ms) {
  std::string blob;
  blob.reserve(samples_ms.size() * sizeof(float));
  for (const double sample : samples_ms) {
    std::uint32_t bits = 0;
    const auto narrow = static_cast<float>(sample);
    std::memcpy(&bits, &narrow, sizeof(bits));
    for (unsigned shift = 0; shift < 32; shift += 8)
      blob += static_cast<char>((bits >> shift) & 0xFF);
  }
  return blob;
}

core::Result<std::int64_t> insert_measurement(const Database& database,
                                              std::int64_t run,
                                              std::int64_t case_record,
                                              const model::PerfRow& row) {
  std::vector<std::string> columns;
  for (const model::PerfField& field : row.key)
    columns.push_back(field.column);
  Sources sources(database);
  const std::int64_t layout = ASSAY_TRY(sources.layout(row.table, columns));
  const std::int64_t source =
      ASSAY_TRY(sources.source(layout, {.framework = row.framework,
                                        .version = row.version,
                                        .device = row.device,
                                        .op_name = row.op_name,
                                        .kernel_source = row.kernel_source}));
  const std::string key = key_json(row.key);
  Statement insert = ASSAY_TRY(database.prepare(
      "INSERT INTO measurement(run, case_record, source, key, key_hash, latency_ms, power_watts, "
      "power_limit_watts) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  insert.bind(0, run);
  insert.bind(1, case_record);
  insert.bind(2, source);
  insert.bind(3, std::string_view(key));
  insert.bind(4, static_cast<std::int64_t>(stable_hash(key)));
  insert.bind(5, row.latency_ms);
  insert.bind(6, row.power_watts);
  insert.bind(7, row.power_limit_watts);
  ASSAY_TRY(insert.run());
  return database.last_row_id();
}

core::Status insert_timing(const Database& database,
                           std::int64_t measurement,
                           const model::Timing& timing,
                           const model::Conditions& conditions) {
  Statement insert = ASSAY_TRY(database.prepare(
      "INSERT INTO timing VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
      "?16, ?17, ?18, ?19, ?20, ?21)"));
  int at = 0;
  insert.bind(at++, measurement);
  for (const double value : {timing.median_ms, timing.mean_ms, timing.p10_ms, timing.p90_ms,
                             timing.low_ms, timing.high_ms})
    insert.bind(at++, value);
  insert.bind(at++, timing.launches_per_sample);
  insert.bind(at++, name_of(timing.launch));
  insert.bind(at++, name_of(timing.l2));
  insert.bind(at++, timing.skew_ms);
  for (const auto& clock : {conditions.sm_mhz_before, conditions.sm_mhz_after,
                            conditions.memory_mhz_before, conditions.memory_mhz_after})
    insert.bind(at++, clock);
  insert.bind(at++, conditions.temperature_celsius);
  const std::string slowdowns = core::join(conditions.slowdowns, "; ");
  insert.bind(at++, std::string_view(slowdowns));
  insert.bind(at++, conditions.energy_joules);
  insert.bind(at++, std::int64_t{conditions.throttled ? 1 : 0});
  insert.bind(at++, std::int64_t{conditions.drifting ? 1 : 0});
  const std::string samples = samples_blob(timing.samples_ms);
  insert.bind_blob(at++, samples);
  return insert.run();
}

core::Result<std::int64_t> insert_case(const Database& database,
                                       std::int64_t run,
                                       const CaseRecord& record) {
  Statement remove =
      ASSAY_TRY(database.prepare("DELETE FROM case_record WHERE run = ?1 AND name = ?2"));
  remove.bind(0, run);
  remove.bind(1, std::string_view(record.id));
  ASSAY_TRY(remove.run());
  Statement insert = ASSAY_TRY(database.prepare(
      "INSERT INTO case_record(run, operator, name, outcome, reason, error_class, detail, "
      "finished_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  const std::string now = utc_now();
  const std::string outcome = name_of(record.outcome);
  insert.bind(0, run);
  int at = 1;
  for (const std::string* text : {&record.operator_name, &record.id, &outcome, &record.reason,
                                  &record.error_class, &record.detail, &now})
    insert.bind(at++, std::string_view(*text));
  ASSAY_TRY(insert.run());
  return database.last_row_id();
}

core::Status insert_record(const Database& database, std::int64_t run, const CaseRecord& record) {
  const std::int64_t case_record = ASSAY_TRY(insert_case(database, run, record));
  for (const model::PerfMeasurement& measured : record.rows) {
    const std::int64_t id = ASSAY_TRY(insert_measurement(database, run, case_record, measured.row));
    ASSAY_TRY(insert_timing(database, id, measured.timing, measured.conditions));
  }
  return {};
}

std::optional<double> real_at(const FrameColumn* column, std::size_t row) {
  if (column == nullptr || column->is_missing(row)) return std::nullopt;
  if (const auto* reals = std::get_if<std::vector<double>>(&column->values)) return (*reals)[row];
  if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&column->values)) {
    return static_cast<double>((*wholes)[row]);
  }
  return std::nullopt;
}

core::Status check_numbers(const FrameColumn* column) {
  if (column == nullptr || !std::holds_alternative<TextColumn>(column->values)) return {};
  return core::Error{fmt::format("the column '{}' holds text, not numbers", column->name)};
}

std::vector<const FrameColumn*> key_columns(const Frame& rows) {
  std::vector<const FrameColumn*> columns;
  for (const FrameColumn& column : rows.columns) {
    if (!is_common_column(column.name) && !is_value_column(column.name)) {
      columns.push_back(&column);
    }
  }
  return columns;
}

// Finds the number of a row's source; rows of a file have few different ones.
class RowSources {
 public:
  RowSources(const Database& database, std::int64_t layout, const Frame& rows)
      : sources_(database), layout_(layout) {
    for (std::size_t i = 0; i < kCommonColumns.size(); ++i)
      texts_[i] = as_text(*rows.find(kCommonColumns[i]));
  }

  core::Result<std::int64_t> source_of(std::size_t row) {
    std::array<std::uint32_t, kCommonColumns.size()> codes{};
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = texts_[i].codes[row];
    if (const auto found = known_.find(codes); found != known_.end()) return found->second;
    const auto word = [&](std::size_t column) { return texts_[column].words[codes[column]]; };
    const std::int64_t id = ASSAY_TRY(sources_.source(layout_, {.framework = word(0),
                                                                .version = word(1),
                                                                .device = word(2),
                                                                .op_name = word(3),
                                                                .kernel_source = word(4)}));
    known_.emplace(codes, id);
    return id;
  }

 private:
  Sources sources_;
  std::int64_t layout_;
  std::array<TextColumn, kCommonColumns.size()> texts_;
  std::map<std::array<std::uint32_t, kCommonColumns.size()>, std::int64_t> known_;
};

core::Status insert_rows(const Database& database,
                         std::int64_t run,
                         const std::string& table,
                         const Frame& rows) {
  ASSAY_TRY(check_rows(rows));
  const std::vector<const FrameColumn*> key = key_columns(rows);
  std::vector<std::string> names;
  for (const FrameColumn* column : key)
    names.push_back(column->name);
  std::array<const FrameColumn*, kValueColumns.size()> values{};
  for (std::size_t i = 0; i < kValueColumns.size(); ++i)
    values[i] = rows.find(kValueColumns[i]);
  RowSources sources(database, ASSAY_TRY(Sources(database).layout(table, names)), rows);
  KeyWriter writer(key);
  Statement insert = ASSAY_TRY(database.prepare(
      "INSERT INTO measurement(run, source, key, key_hash, latency_ms, power_watts, "
      "power_limit_watts) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  insert.bind(0, run);
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    const std::string_view json = writer.write(row);
    insert.bind(1, ASSAY_TRY(sources.source_of(row)));
    insert.bind(2, json);
    insert.bind(3, static_cast<std::int64_t>(stable_hash(json)));
    for (std::size_t i = 0; i < values.size(); ++i)
      insert.bind(4 + static_cast<int>(i), real_at(values[i], row));
    ASSAY_TRY(insert.run());
  }
  return touch_run(database, run);
}

core::Result<std::optional<std::string>> file_with_hash(const Database& database,
                                                        const std::string& hash) {
  Statement select = ASSAY_TRY(database.prepare(
      "SELECT coalesce(json_extract(facts, '$.file'), '') FROM run "
      "WHERE json_valid(facts) AND json_extract(facts, '$.file_hash') = ?1 LIMIT 1"));
  select.bind(0, hash);
  std::optional<std::string> file;
  if (ASSAY_TRY(select.step())) file.emplace(select.text(0));
  return file;
}

}  // namespace

core::Status Store::append(std::int64_t run, const CaseRecord& record) {
  return append(run, std::vector<CaseRecord>{record});
}

// A program that is asked to stop still keeps what it has measured.
core::Status Store::append(std::int64_t run, const std::vector<CaseRecord>& records) {
  const core::FinishingTouches touches;
  Transaction transaction = ASSAY_TRY(Transaction::begin(state_->database));
  for (const CaseRecord& record : records)
    ASSAY_TRY(insert_record(state_->database, run, record));
  ASSAY_TRY(touch_run(state_->database, run));
  return transaction.commit();
}

core::Result<std::vector<StoredCase>> Store::cases(std::int64_t run) const {
  Statement select = ASSAY_TRY(state_->database.prepare(
      "SELECT name, outcome, operator, reason, error_class, detail, EXISTS(SELECT 1 FROM "
      "measurement m WHERE m.case_record = case_record.id AND m.power_watts IS NOT NULL) "
      "FROM case_record WHERE run = ?1 ORDER BY id"));
  select.bind(0, run);
  std::vector<StoredCase> cases;
  while (ASSAY_TRY(select.step())) {
    cases.push_back({.id = std::string(select.text(0)),
                     .outcome = outcome_named(select.text(1)),
                     .operator_name = std::string(select.text(2)),
                     .reason = std::string(select.text(3)),
                     .error_class = std::string(select.text(4)),
                     .detail = std::string(select.text(5)),
                     .has_power = select.integer(6) != 0});
  }
  return cases;
}

core::Result<std::vector<StoredRow>> Store::rows(std::int64_t run) const {
  Statement select = ASSAY_TRY(state_->database.prepare(
      "SELECT c.name, l.table_name, s.op_name, s.kernel_source, m.key, m.latency_ms, "
      "coalesce(t.throttled OR t.drifting, 0) FROM measurement m "
      "JOIN case_record c ON c.id = m.case_record JOIN source s ON s.id = m.source "
      "JOIN layout l ON l.id = s.layout LEFT JOIN timing t ON t.measurement = m.id "
      "WHERE m.run = ?1 ORDER BY m.id"));
  select.bind(0, run);
  std::vector<StoredRow> rows;
  while (ASSAY_TRY(select.step())) {
    rows.push_back({.case_id = std::string(select.text(0)),
                    .table = std::string(select.text(1)),
                    .op_name = std::string(select.text(2)),
                    .kernel_source = std::string(select.text(3)),
                    .key = std::string(select.text(4)),
                    .latency_ms = select.real(5),
                    .is_unsteady = select.integer(6) != 0});
  }
  return rows;
}

core::Status check_rows(const Frame& rows) {
  for (const std::string_view name : kCommonColumns) {
    if (rows.find(name) == nullptr) return core::Error{fmt::format("no column '{}'", name)};
  }
  for (const std::string_view name : kValueColumns)
    ASSAY_TRY(check_numbers(rows.find(name)));
  return {};
}

core::Status Store::append(std::int64_t run, const std::string& table, const Frame& rows) {
  Transaction transaction = ASSAY_TRY(Transaction::begin(state_->database));
  ASSAY_TRY(insert_rows(state_->database, run, table, rows));
  return transaction.commit();
}

core::Result<std::optional<std::string>> Store::append_file(const Run& run,
                                                            const std::string& table,
                                                            const Frame& rows) {
  Transaction transaction = ASSAY_TRY(Transaction::begin(state_->database));
  const auto known = ASSAY_TRY(file_with_hash(state_->database, run.facts.at("file_hash")));
  if (known) return known;
  const std::int64_t id = ASSAY_TRY(insert_run(state_->database, run));
  ASSAY_TRY(insert_rows(state_->database, id, table, rows));
  ASSAY_TRY(transaction.commit());
  return std::optional<std::string>();
}

core::Result<std::int64_t> Store::append(const Run& run,
                                         const std::string& table,
                                         const Frame& rows) {
  Transaction transaction = ASSAY_TRY(Transaction::begin(state_->database));
  const std::int64_t id = ASSAY_TRY(insert_run(state_->database, run));
  ASSAY_TRY(insert_rows(state_->database, id, table, rows));
  ASSAY_TRY(transaction.commit());
  return id;
}

}  // namespace assay::store
