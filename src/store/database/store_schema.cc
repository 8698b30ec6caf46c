#include "store/database/store_schema.h"

#include <fmt/core.h>

#include <algorithm>

#include "store/database/store_key.h"

namespace assay::store {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kApplicationId = 0x41535359;  // "ASSY"

// measurement.key holds the values of the layout's columns as a JSON list: ["bfloat16",1,32,32];
// key_hash is a 64-bit hash of that text. A row is hidden when a later run has the same source and
// key, unless that run is a rerun, whose rows are all hidden; but rows of a cache as engines find
// it hide those of other states of the cache, and never the other way round. Rows of cases also
// hide those whose kernel alone is another: a case measures all kernels that can do it, so that its
// rows tell anew which is the fastest. timing has what only our own measurements know. Samples are
// 32-bit floats, little endian, in milliseconds: they hold seven digits, and timers resolve half a
// microsecond.
constexpr const char* kSchema = R"sql(
CREATE TABLE run(
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  started_at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  device TEXT NOT NULL,
  plan_hash TEXT NOT NULL,
  facts TEXT NOT NULL);
CREATE TABLE case_record(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id),
  operator TEXT NOT NULL,
  name TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK(outcome IN ('measured', 'skipped', 'failed')),
  reason TEXT,
  error_class TEXT,
  detail TEXT,
  finished_at TEXT NOT NULL,
  UNIQUE(run, name));
CREATE TABLE layout(
  id INTEGER PRIMARY KEY,
  table_name TEXT NOT NULL,
  columns TEXT NOT NULL,
  UNIQUE(table_name, columns));
CREATE TABLE source(
  id INTEGER PRIMARY KEY,
  layout INTEGER NOT NULL REFERENCES layout(id),
  framework TEXT NOT NULL,
  version TEXT NOT NULL,
  device TEXT NOT NULL,
  op_name TEXT NOT NULL,
  kernel_source TEXT NOT NULL,
  UNIQUE(layout, framework, version, device, op_name, kernel_source));
CREATE TABLE measurement(
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id),
  case_record INTEGER REFERENCES case_record(id) ON DELETE CASCADE,
  source INTEGER NOT NULL REFERENCES source(id),
  key TEXT NOT NULL,
  key_hash INTEGER NOT NULL,
  latency_ms REAL,
  power_watts REAL,
  power_limit_watts REAL);
CREATE INDEX measurement_key ON measurement(source, key_hash, run);
CREATE INDEX measurement_run ON measurement(run);
CREATE INDEX measurement_case ON measurement(case_record) WHERE case_record IS NOT NULL;
CREATE TABLE timing(
  measurement INTEGER PRIMARY KEY REFERENCES measurement(id) ON DELETE CASCADE,
  median_ms REAL, mean_ms REAL, p10_ms REAL, p90_ms REAL, low_ms REAL, high_ms REAL,
  launches_per_sample INTEGER NOT NULL,
  launch TEXT NOT NULL,
  l2 TEXT NOT NULL,
  skew_ms REAL,
  sm_mhz_before INTEGER, sm_mhz_after INTEGER,
  memory_mhz_before INTEGER, memory_mhz_after INTEGER,
  temperature_celsius REAL,
  slowdowns TEXT NOT NULL,
  energy_joules REAL,
  throttled INTEGER NOT NULL,
  drifting INTEGER NOT NULL,
  samples BLOB NOT NULL);
)sql";

core::Status make_schema(const Database& database) {
  ASSAY_TRY(database.use_log());
  Transaction transaction = ASSAY_TRY(Transaction::begin(database));
  // Another process may have made it meanwhile.
  if (ASSAY_TRY(database.number("PRAGMA user_version")) != 0) return {};
  ASSAY_TRY(database.execute(kSchema));
  ASSAY_TRY(database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                         kApplicationId, kSchemaVersion)));
  return transaction.commit();
}

core::Status check_version(const Database& database) {
  const std::int64_t application = ASSAY_TRY(database.number("PRAGMA application_id"));
  const std::int64_t version = ASSAY_TRY(database.number("PRAGMA user_version"));
  if (application != kApplicationId) {
    return core::Error{database.name() + ": not a store (another program's SQLite file)"};
  }
  if (version <= kSchemaVersion) return {};
  return core::Error{fmt::format(
      "{}: a newer assay wrote this store (its version is {}, this program reads up to {}); use "
      "that one",
      database.name(), version, kSchemaVersion)};
}

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    text += c;
    if (c == '"') text += c;
  }
  return text + '"';
}

// 1 if the row is measured as engines find the cache.
std::string as_engine(const char* measurement) {
  return fmt::format("EXISTS (SELECT 1 FROM timing WHERE measurement = {}.id AND l2 = '{}')",
                     measurement, name_of(model::L2State::kEngine));
}

std::string view_part(const Layout& layout, const std::vector<std::string>& columns) {
  std::string sql = "SELECT s.framework, s.version, s.device, s.op_name, s.kernel_source";
  for (const std::string& column : columns) {
    const auto found = std::find(layout.columns.begin(), layout.columns.end(), column);
    const std::string value =
        found == layout.columns.end()
            ? "NULL"
            : fmt::format("json_extract(m.key, '$[{}]')", found - layout.columns.begin());
    sql += fmt::format(", {} AS {}", value, quoted(column));
  }
  sql += fmt::format(
      ", m.latency_ms AS latency, m.power_watts AS power, m.power_limit_watts AS power_limit "
      "FROM source s JOIN measurement m ON m.source = s.id WHERE s.layout = {0} AND m.run NOT IN "
      "({1}) AND NOT EXISTS (SELECT 1 FROM measurement newer WHERE newer.source IN (SELECT kin.id "
      "FROM source kin WHERE {4}) AND newer.key_hash = m.key_hash AND newer.run <> m.run AND "
      "(newer.source = m.source OR newer.case_record + m.case_record IS NOT NULL) AND newer.run "
      "NOT IN ({1}) AND ({3}, newer.run) > ({2}, m.run))",
      layout.id, kReruns, as_engine("m"), as_engine("newer"), kAnotherKernel);
  return sql;
}

std::string view_sql(const std::string& table, const std::vector<Layout>& layouts) {
  const std::vector<std::string> columns = joined_columns(layouts);
  std::string sql;
  for (const Layout& layout : layouts)
    sql += (sql.empty() ? "" : " UNION ALL ") + view_part(layout, columns);
  return fmt::format("CREATE VIEW {} AS {}", quoted(table), sql);
}

// Makes the public view of a table anew: "SELECT * FROM gemm_perf".
core::Status make_view(const Database& database,
                       const std::string& table,
                       const std::vector<Layout>& layouts) {
  ASSAY_TRY(database.execute("DROP VIEW IF EXISTS " + quoted(table)));
  return database.execute(view_sql(table, layouts));
}

// The tables whose views an earlier version made, which show other rows.
core::Result<std::vector<std::string>> outdated_views(const Database& database) {
  std::vector<std::string> outdated;
  Statement select = ASSAY_TRY(database.prepare(
      "SELECT DISTINCT table_name, sql FROM layout JOIN sqlite_master ON name = table_name"));
  while (ASSAY_TRY(select.step())) {
    const std::string table(select.text(0));
    if (select.text(1) != view_sql(table, ASSAY_TRY(layouts_of(database, table))))
      outdated.push_back(table);
  }
  return outdated;
}

core::Status renew_views(const Database& database) {
  if (ASSAY_TRY(outdated_views(database)).empty()) return {};
  Transaction transaction = ASSAY_TRY(Transaction::begin(database));
  for (const std::string& table : ASSAY_TRY(outdated_views(database)))
    ASSAY_TRY(make_view(database, table, ASSAY_TRY(layouts_of(database, table))));
  return transaction.commit();
}

// The views share a name space with the store's own tables.
core::Status check_table_name(const Database& database, const std::string& table) {
  Statement taken = ASSAY_TRY(
      database.prepare("SELECT 1 FROM sqlite_master WHERE type <> 'view' AND name = ?1 COLLATE "
                       "NOCASE"));
  taken.bind(0, std::string_view(table));
  const bool found = ASSAY_TRY(taken.step());
  if (!found && !table.empty() && !table.starts_with("sqlite_")) return {};
  return core::Error{fmt::format("a table cannot have the name '{}'", table)};
}

}  // namespace

core::Status prepare_schema(const Database& database, Store::Mode mode) {
  const bool empty = ASSAY_TRY(database.number("PRAGMA schema_version")) == 0;
  if (empty && mode != Store::Mode::kCreate) {
    return core::Error{database.name() + ": not a store (an empty file)"};
  }
  if (empty) ASSAY_TRY(make_schema(database));
  ASSAY_TRY(check_version(database));
  if (mode != Store::Mode::kRead) ASSAY_TRY(renew_views(database));
  // A page cache of 64 MiB keeps the sorting for the index in memory.
  return database.execute(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536; PRAGMA "
      "temp_store = MEMORY");
}

std::string refinements() {
  return fmt::format("SELECT id FROM run WHERE json_extract(facts, '$.\"{}\"') IS NOT NULL",
                     kRefinesFact);
}

std::vector<std::string> joined_columns(const std::vector<Layout>& layouts) {
  std::vector<std::string> columns;
  for (const Layout& layout : layouts) {
    for (const std::string& column : layout.columns) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
      }
    }
  }
  return columns;
}

core::Result<std::vector<Layout>> layouts_of(const Database& database, const std::string& table) {
  Statement select = ASSAY_TRY(
      database.prepare("SELECT id, columns FROM layout WHERE table_name = ?1 ORDER BY id"));
  select.bind(0, std::string_view(table));
  std::vector<Layout> layouts;
  while (ASSAY_TRY(select.step()))
    layouts.push_back({.id = select.integer(0), .columns = parse_columns(select.text(1))});
  return layouts;
}

core::Result<std::int64_t> Sources::layout(const std::string& table,
                                           const std::vector<std::string>& columns) {
  const std::string json = columns_json(columns);
  Statement select =
      ASSAY_TRY(database_->prepare("SELECT id FROM layout WHERE table_name = ?1 AND columns = ?2"));
  select.bind(0, std::string_view(table));
  select.bind(1, std::string_view(json));
  if (ASSAY_TRY(select.step())) return select.integer(0);
  ASSAY_TRY(check_table_name(*database_, table));
  Statement insert =
      ASSAY_TRY(database_->prepare("INSERT INTO layout(table_name, columns) VALUES(?1, ?2)"));
  insert.bind(0, std::string_view(table));
  insert.bind(1, std::string_view(json));
  ASSAY_TRY(insert.run());
  const std::int64_t id = database_->last_row_id();
  const std::vector<Layout> layouts = ASSAY_TRY(layouts_of(*database_, table));
  ASSAY_TRY(make_view(*database_, table, layouts));
  return id;
}

core::Result<std::int64_t> Sources::source(std::int64_t layout, const Common& common) {
  const auto bind_all = [&](Statement& statement) {
    statement.bind(0, layout);
    int parameter = 1;
    for (const std::string* text : {&common.framework, &common.version, &common.device,
                                    &common.op_name, &common.kernel_source})
      statement.bind(parameter++, std::string_view(*text));
  };
  Statement select = ASSAY_TRY(database_->prepare(
      "SELECT id FROM source WHERE layout = ?1 AND framework = ?2 AND version = ?3 AND device = ?4 "
      "AND op_name = ?5 AND kernel_source = ?6"));
  bind_all(select);
  if (ASSAY_TRY(select.step())) return select.integer(0);
  Statement insert = ASSAY_TRY(database_->prepare(
      "INSERT INTO source(layout, framework, version, device, op_name, kernel_source) VALUES(?1, "
      "?2, ?3, ?4, ?5, ?6)"));
  bind_all(insert);
  ASSAY_TRY(insert.run());
  return database_->last_row_id();
}

}  // namespace assay::store
