#include "store/database/store.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "core/text.h"
#include "store/database/store_schema.h"

namespace assay::store {
namespace {

std::string facts_json(const std::map<std::string, std::string>& facts) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& fact : facts)
    object[core::valid_utf8(fact.first)] = core::valid_utf8(fact.second);
  return object.dump();
}

std::map<std::string, std::string> parse_facts(std::string_view json) {
  std::map<std::string, std::string> facts;
  const auto object = nlohmann::json::parse(json, nullptr, false);
  if (!object.is_object()) return facts;
  for (const auto& item : object.items()) {
    if (item.value().is_string()) facts[item.key()] = item.value().get<std::string>();
  }
  return facts;
}

void add_once(std::vector<std::string>& words, const std::string& word) {
  if (word.empty() || std::find(words.begin(), words.end(), word) != words.end()) return;
  words.push_back(word);
}

// Reads a Run from the columns of a row from `first` on.
Run run_at(const Statement& row, int first) {
  return {.kind = std::string(row.text(first)),
          .started_at = std::string(row.text(first + 1)),
          .device = std::string(row.text(first + 2)),
          .plan_hash = std::string(row.text(first + 3)),
          .facts = parse_facts(row.text(first + 4))};
}

}  // namespace

std::string day_of(const std::string& time) {
  return time.substr(0, time.find('T'));
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  const std::size_t length = std::strftime(std::data(text), sizeof(text), "%FT%TZ", &parts);
  return {std::data(text), length};
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}

Store::Store(Store&& other) noexcept = default;
Store& Store::operator=(Store&& other) noexcept = default;
Store::~Store() = default;

core::Result<Store> Store::open(const std::filesystem::path& path, Mode mode) {
  Database database = ASSAY_TRY(Database::open(path, mode));
  ASSAY_TRY(prepare_schema(database, mode));
  return Store(std::make_unique<State>(std::move(database)));
}

core::Result<Store> Store::in_memory() {
  return open(":memory:", Mode::kCreate);
}

core::Result<Store> Store::from_bytes(const std::string& name, std::string_view bytes) {
  Database database = ASSAY_TRY(Database::from_bytes(name, bytes));
  ASSAY_TRY(prepare_schema(database, Mode::kRead));
  return Store(std::make_unique<State>(std::move(database)));
}

core::Result<Store> Store::unpack(const std::string& name, std::string_view packed) {
  Database database = ASSAY_TRY(Database::unpack(name, packed));
  ASSAY_TRY(prepare_schema(database, Mode::kRead));
  return Store(std::make_unique<State>(std::move(database)));
}

core::Result<std::int64_t> insert_run(const Database& database, const Run& run) {
  Statement insert = ASSAY_TRY(
      database.prepare("INSERT INTO run(kind, started_at, last_at, device, plan_hash, facts) "
                       "VALUES(?1, ?2, ?2, ?3, ?4, ?5)"));
  const std::string facts = facts_json(run.facts);
  int parameter = 0;
  for (const std::string* text : {&run.kind, &run.started_at, &run.device, &run.plan_hash, &facts})
    insert.bind(parameter++, std::string_view(*text));
  ASSAY_TRY(insert.run());
  return database.last_row_id();
}

core::Status touch_run(const Database& database, std::int64_t run) {
  Statement update = ASSAY_TRY(database.prepare("UPDATE run SET last_at = ?1 WHERE id = ?2"));
  const std::string now = utc_now();
  update.bind(0, std::string_view(now));
  update.bind(1, run);
  return update.run();
}

core::Result<std::int64_t> Store::begin_run(const Run& run) {
  return insert_run(state_->database, run);
}

core::Status Store::set_facts(std::int64_t run, const std::map<std::string, std::string>& changed) {
  const Database& database = state_->database;
  Transaction transaction = ASSAY_TRY(Transaction::begin(database));
  std::map<std::string, std::string> facts = ASSAY_TRY(this->run(run)).facts;
  for (const auto& [name, value] : changed)
    facts[name] = value;
  Statement update = ASSAY_TRY(database.prepare("UPDATE run SET facts = ?1 WHERE id = ?2"));
  const std::string json = facts_json(facts);
  update.bind(0, std::string_view(json));
  update.bind(1, run);
  ASSAY_TRY(update.run());
  return transaction.commit();
}

core::Result<std::optional<std::int64_t>> Store::last_run(const std::string& kind) const {
  Statement select = ASSAY_TRY(
      state_->database.prepare("SELECT id FROM run WHERE kind = ?1 ORDER BY id DESC LIMIT 1"));
  select.bind(0, std::string_view(kind));
  if (!ASSAY_TRY(select.step())) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(select.integer(0));
}

core::Result<Run> Store::run(std::int64_t id) const {
  Statement select = ASSAY_TRY(state_->database.prepare(
      "SELECT kind, started_at, device, plan_hash, facts FROM run WHERE id = ?1"));
  select.bind(0, id);
  if (!ASSAY_TRY(select.step())) {
    return core::Error{state_->database.name() + ": no run " + std::to_string(id)};
  }
  return run_at(select, 0);
}

core::Result<std::vector<StoredRun>> Store::runs() const {
  Statement select = ASSAY_TRY(state_->database.prepare(
      "SELECT run.id, kind, started_at, device, plan_hash, facts, last_at, "
      "(SELECT count(*) FROM measurement WHERE run = run.id), "
      "total(outcome = 'measured'), total(outcome = 'skipped'), total(outcome = 'failed') "
      "FROM run LEFT JOIN case_record ON case_record.run = run.id GROUP BY run.id"));
  std::vector<StoredRun> runs;
  while (ASSAY_TRY(select.step())) {
    runs.push_back({.id = select.integer(0),
                    .run = run_at(select, 1),
                    .last_at = std::string(select.text(6)),
                    .rows = select.integer(7),
                    .measured = select.integer(8),
                    .skipped = select.integer(9),
                    .failed = select.integer(10)});
  }
  return runs;
}

core::Result<Origin> Store::origin() const {
  Statement select = ASSAY_TRY(state_->database.prepare(
      "SELECT kind, started_at, device, plan_hash, facts, last_at FROM run "
      "WHERE kind != 'rerun' ORDER BY id"));
  Origin origin;
  while (ASSAY_TRY(select.step())) {
    const Run run = run_at(select, 0);
    add_once(origin.devices, run.device);
    const auto maker = run.facts.find("made by");
    if (maker != run.facts.end()) add_once(origin.makers, maker->second);
    const std::string first = day_of(run.started_at);
    if (origin.first_day.empty() || first < origin.first_day) origin.first_day = first;
    origin.last_day = std::max(origin.last_day, day_of(std::string(select.text(5))));
  }
  return origin;
}

}  // namespace assay::store
