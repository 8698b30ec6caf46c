// Takes the runs of another store into this one.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "store/database/store_key.h"
#include "store/database/store_schema.h"

namespace assay::store {
namespace {

void bind_as_is(Statement& to, int parameter, const Statement& from, int column) {
  switch (from.type(column)) {
    case Statement::Type::kNull:
      return to.bind_null(parameter);
    case Statement::Type::kInteger:
      return to.bind(parameter, from.integer(column));
    case Statement::Type::kReal:
      return to.bind(parameter, from.real(column));
    case Statement::Type::kText:
      return to.bind(parameter, from.text(column));
  }
}

// A source there, and its number here once it has one.
struct MergedSource {
  std::string table;
  std::vector<std::string> columns;
  Sources::Common common;
  std::int64_t number = 0;
};

class Merge {
 public:
  Merge(const Database& from, const Database& to) : from_(from), to_(to), sources_(to) {}

  // All tables, if none is named.
  core::Status choose(const std::vector<std::string>& tables) {
    Statement select = ASSAY_TRY(
        from_.prepare("SELECT source.id, table_name, columns, framework, version, device, op_name, "
                      "kernel_source FROM source JOIN layout ON layout.id = source.layout"));
    while (ASSAY_TRY(select.step())) {
      MergedSource source{.table = std::string(select.text(1)),
                          .columns = parse_columns(select.text(2)),
                          .common = {.framework = std::string(select.text(3)),
                                     .version = std::string(select.text(4)),
                                     .device = std::string(select.text(5)),
                                     .op_name = std::string(select.text(6)),
                                     .kernel_source = std::string(select.text(7))}};
      const bool is_wanted =
          tables.empty() || std::find(tables.begin(), tables.end(), source.table) != tables.end();
      if (is_wanted) wanted_.emplace(select.integer(0), std::move(source));
    }
    chooses_ = !tables.empty();
    return {};
  }

  // Where tables were chosen, a run without rows of them is left out, and so are the cases of
  // operators without.
  [[nodiscard]] core::Result<bool> wants(std::int64_t old_run) const {
    if (!chooses_) return true;
    Statement select = ASSAY_TRY(from_.prepare(fmt::format(
        "SELECT 1 FROM measurement WHERE run = ?1 AND source IN ({}) LIMIT 1", wanted_list())));
    select.bind(0, old_run);
    return select.step();
  }

  // Returns the number of rows.
  core::Result<std::int64_t> copy(std::int64_t old_run, std::int64_t new_run) {
    new_cases_.clear();
    ASSAY_TRY(copy_cases(old_run, new_run));
    return copy_measurements(old_run, new_run);
  }

 private:
  [[nodiscard]] std::string wanted_list() const {
    std::string list;
    for (const auto& [number, source] : wanted_)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", number);
    return list;
  }

  core::Status copy_cases(std::int64_t old_run, std::int64_t new_run) {
    std::string chosen;
    if (chooses_)
      chosen = fmt::format(
          " AND operator IN (SELECT operator FROM case_record JOIN measurement ON "
          "measurement.case_record = case_record.id WHERE source IN ({}))",
          wanted_list());
    Statement select =
        ASSAY_TRY(from_.prepare("SELECT id, operator, name, outcome, reason, error_class, detail, "
                                "finished_at FROM case_record WHERE run = ?1" +
                                chosen + " ORDER BY id"));
    Statement insert = ASSAY_TRY(to_.prepare(
        "INSERT INTO case_record(run, operator, name, outcome, reason, error_class, detail, "
        "finished_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
    select.bind(0, old_run);
    while (ASSAY_TRY(select.step())) {
      insert.bind(0, new_run);
      for (int column = 1; column <= 7; ++column)
        bind_as_is(insert, column, select, column);
      ASSAY_TRY(insert.run());
      new_cases_[select.integer(0)] = to_.last_row_id();
    }
    return {};
  }

  core::Result<std::int64_t> copy_measurements(std::int64_t old_run, std::int64_t new_run) {
    Statement select = ASSAY_TRY(
        from_.prepare("SELECT id, case_record, source, key, key_hash, latency_ms, power_watts, "
                      "power_limit_watts FROM measurement WHERE run = ?1 ORDER BY id"));
    Statement insert = ASSAY_TRY(
        to_.prepare("INSERT INTO measurement(run, case_record, source, key, key_hash, latency_ms, "
                    "power_watts, power_limit_watts) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
    Statement timing = ASSAY_TRY(from_.prepare("SELECT * FROM timing WHERE measurement = ?1"));
    Statement new_timing = ASSAY_TRY(
        to_.prepare("INSERT INTO timing VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
                    "?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)"));
    select.bind(0, old_run);
    std::int64_t rows = 0;
    while (ASSAY_TRY(select.step())) {
      const auto source = wanted_.find(select.integer(2));
      if (source == wanted_.end()) continue;
      insert.bind(0, new_run);
      const auto record = new_cases_.find(select.integer(1));
      insert.bind(1, record == new_cases_.end() ? std::optional<std::int64_t>() : record->second);
      insert.bind(2, ASSAY_TRY(number_of(source->second)));
      for (int column = 3; column <= 7; ++column)
        bind_as_is(insert, column, select, column);
      ASSAY_TRY(insert.run());
      ASSAY_TRY(copy_timing(timing, select.integer(0), new_timing, to_.last_row_id()));
      ++rows;
    }
    return rows;
  }

  static core::Status copy_timing(Statement& from,
                                  std::int64_t old_measurement,
                                  Statement& to,
                                  std::int64_t new_measurement) {
    constexpr int kSamples = 20;  // the last column, a blob
    from.bind(0, old_measurement);
    if (ASSAY_TRY(from.step())) {
      to.bind(0, new_measurement);
      for (int column = 1; column < kSamples; ++column)
        bind_as_is(to, column, from, column);
      to.bind_blob(kSamples, from.text(kSamples));
      ASSAY_TRY(to.run());
    }
    from.reset();
    return {};
  }

  core::Result<std::int64_t> number_of(MergedSource& source) {
    if (source.number != 0) return source.number;
    const std::int64_t layout = ASSAY_TRY(sources_.layout(source.table, source.columns));
    source.number = ASSAY_TRY(sources_.source(layout, source.common));
    return source.number;
  }

  const Database& from_;
  const Database& to_;
  Sources sources_;
  std::map<std::int64_t, MergedSource> wanted_;  // by number there
  bool chooses_ = false;
  std::map<std::int64_t, std::int64_t> new_cases_;
};

// What a run has recorded, but for the number of another run, which differs from store to store.
bool is_same(const Run& a, const Run& b) {
  std::map<std::string, std::string> facts_of_a = a.facts;
  std::map<std::string, std::string> facts_of_b = b.facts;
  facts_of_a.erase(kRefinesFact);
  facts_of_b.erase(kRefinesFact);
  return a.kind == b.kind && a.started_at == b.started_at && a.device == b.device &&
         a.plan_hash == b.plan_hash && facts_of_a == facts_of_b;
}

core::Status set_last_at(const Database& database, std::int64_t run, const std::string& last_at) {
  Statement update = ASSAY_TRY(database.prepare("UPDATE run SET last_at = ?1 WHERE id = ?2"));
  update.bind(0, std::string_view(last_at));
  update.bind(1, run);
  return update.run();
}

// A run that refines another one names it by its number, which is another one here.
void renumber(Run& run, const std::map<std::int64_t, std::int64_t>& new_runs) {
  const auto refines = run.facts.find(kRefinesFact);
  if (refines == run.facts.end()) return;
  for (const auto& [old_run, new_run] : new_runs) {
    if (refines->second != std::to_string(old_run)) continue;
    refines->second = std::to_string(new_run);
    return;
  }
}

}  // namespace

core::Result<std::vector<MergedRun>> Store::merge(const Store& other,
                                                  const std::vector<std::string>& tables) {
  const Database& to = state_->database;
  const std::vector<StoredRun> runs = ASSAY_TRY(other.runs());
  Transaction transaction = ASSAY_TRY(Transaction::begin(to));
  // Another process may have taken them just before.
  const std::vector<StoredRun> known = ASSAY_TRY(this->runs());
  Merge merge(other.state_->database, to);
  ASSAY_TRY(merge.choose(tables));
  std::vector<MergedRun> merged;
  std::map<std::int64_t, std::int64_t> new_runs;
  for (const StoredRun& stored : runs) {
    if (!ASSAY_TRY(merge.wants(stored.id))) continue;
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const StoredRun& own) {
      return is_same(own.run, stored.run);
    });
    MergedRun one{.run = stored.run, .is_known = is_known};
    if (!one.is_known) {
      renumber(one.run, new_runs);
      const std::int64_t new_run = ASSAY_TRY(insert_run(to, one.run));
      new_runs[stored.id] = new_run;
      one.rows = ASSAY_TRY(merge.copy(stored.id, new_run));
      ASSAY_TRY(set_last_at(to, new_run, stored.last_at));
    }
    merged.push_back(std::move(one));
  }
  ASSAY_TRY(transaction.commit());
  return merged;
}

}  // namespace assay::store
