// Reads from a store: the list of its contents, and the public tables.
#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "store/database/store_key.h"
#include "store/database/store_schema.h"
#include "store/files/frame.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

constexpr const char* kRowColumns =
    "SELECT m.key, m.latency_ms AS latency, m.power_watts AS power, m.power_limit_watts AS "
    "power_limit";
constexpr const char* kTimingColumns =
    ", t.median_ms, t.mean_ms, t.p10_ms, t.p90_ms, t.low_ms, t.high_ms, length(t.samples) / 4 AS "
    "samples, t.launches_per_sample, t.launch, t.l2, t.skew_ms, t.sm_mhz_before, t.sm_mhz_after, "
    "t.memory_mhz_before, t.memory_mhz_after, t.temperature_celsius, t.slowdowns, "
    "t.energy_joules, t.throttled, t.drifting";

// The driver is that of the whole run.
constexpr const char* kConditionColumns =
    ", t.launch AS condition_launch, t.l2 AS condition_l2, t.throttled AS condition_throttled"
    ", CASE WHEN json_valid(r.facts) THEN json_extract(r.facts, '$.driver') END AS "
    "condition_driver";

// A worker that gives no interval leaves zeros. A difference of two medians (compute_scale) has the
// timing of the first.
constexpr const char* kIntervalColumns =
    ", CASE WHEN t.low_ms > 0 AND t.median_ms = m.latency_ms THEN t.low_ms END AS interval_low_ms"
    ", CASE WHEN t.low_ms > 0 AND t.median_ms = m.latency_ms THEN t.high_ms END AS interval_high_ms"
    ", length(t.samples) / 4 AS samples"
    ", CASE WHEN t.low_ms > 0 THEN max(t.high_ms - t.median_ms, t.median_ms - t.low_ms) / "
    "t.median_ms END AS certainty_reached"
    ", CASE WHEN t.low_ms > 0 AND json_valid(r.facts) AND json_extract(r.facts, '$.\"{1}\"') = '0' "
    "THEN json_extract(r.facts, '$.\"{0}\"') / 100.0 END AS certainty_asked"
    ", t.throttled";

struct SourceRow {
  std::int64_t id = 0;
  std::size_t layout = 0;  // index into the table's layouts
  std::array<std::string, kCommonColumns.size()> common;
};

// What sources have in common that differ in their kernel alone.
using Family = std::tuple<std::size_t, std::string, std::string, std::string, std::string>;

Family family_of(const SourceRow& source) {
  return {source.layout, source.common[0], source.common[1], source.common[2], source.common[3]};
}

struct RowId {
  std::int64_t id = 0;
  std::size_t source = 0;  // index into the sources
};

core::Error no_table(const Database& database,
                     const std::string& table,
                     const std::vector<std::string>& names) {
  if (names.empty()) return core::Error{database.name() + ": the store has no rows yet"};
  const std::string near = core::nearest(table, names);
  return core::Error{fmt::format(
      "{}: no table '{}'; {}", database.name(), table,
      near.empty() ? "there are " + core::join(names, ", ") : "did you mean '" + near + "'?")};
}

core::Result<std::vector<SourceRow>> sources_of(const Database& database,
                                                const Selection& selection,
                                                const std::vector<Layout>& layouts) {
  Statement select = ASSAY_TRY(database.prepare(
      "SELECT id, framework, version, device, op_name, kernel_source FROM source WHERE layout = ?1 "
      "AND (?2 = '' OR framework = ?2 COLLATE NOCASE) AND (?3 = '' OR version = ?3) AND (?4 = '' "
      "OR device = ?4) "
      "AND (?5 = '' OR op_name = ?5) ORDER BY id"));
  int parameter = 1;
  for (const std::string* text :
       {&selection.framework, &selection.version, &selection.device, &selection.op_name})
    select.bind(parameter++, std::string_view(*text));
  std::vector<SourceRow> sources;
  for (std::size_t layout = 0; layout < layouts.size(); ++layout) {
    select.bind(0, layouts[layout].id);
    while (ASSAY_TRY(select.step())) {
      SourceRow source{.id = select.integer(0), .layout = layout, .common = {}};
      for (std::size_t i = 0; i < kCommonColumns.size(); ++i)
        source.common[i] = select.text(static_cast<int>(i) + 1);
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

// Tells which rows of one key are shown. They come in the order in which one hides another.
class RowsOfKey {
 public:
  void start() {
    runs_.clear();
    case_run_.reset();
  }

  bool is_shown(std::int64_t source, std::int64_t run, bool has_case) {
    const auto known = std::find_if(runs_.begin(), runs_.end(),
                                    [&](const auto& other) { return other.first == source; });
    bool is_newest = known == runs_.end() || known->second == run;
    if (known == runs_.end()) runs_.emplace_back(source, run);
    if (has_case) is_newest = is_newest && case_run_.value_or(run) == run;
    if (has_case && !case_run_) case_run_ = run;
    return is_newest;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> runs_;  // by source
  std::optional<std::int64_t> case_run_;
};

// Calls visit(id, run, source) for the rows of a source, and of those that differ from it in the
// kernel alone, which no row of another run hides.
template <class Visit>
core::Status newest_rows(Statement& select, std::int64_t source, Visit visit) {
  select.bind(0, source);
  std::optional<std::int64_t> key_hash;
  RowsOfKey key;
  while (ASSAY_TRY(select.step())) {
    if (key_hash != select.integer(1)) key.start();
    key_hash = select.integer(1);
    const std::int64_t run = select.integer(2);
    const std::int64_t kernel = select.integer(3);
    if (key.is_shown(kernel, run, select.integer(4) != 0)) visit(select.integer(0), run, kernel);
  }
  return {};
}

// The second parameter, where it is bound, is the last run that counts, and the third the state of
// the L2 cache. Rows with equal keys come together, those to be shown first.
core::Result<Statement> select_newest(const Database& database, Points points) {
  const std::string hidden =
      points == Points::kAll ? kReruns : fmt::format("{} UNION {}", kReruns, refinements());
  return database.prepare(fmt::format(
      "SELECT m.id, m.key_hash, m.run, m.source, m.case_record IS NOT NULL FROM "
      "measurement m LEFT JOIN timing t ON t.measurement = m.id WHERE m.source IN (SELECT "
      "kin.id FROM source kin JOIN source s ON {} WHERE s.id = ?1) AND m.run NOT IN ({}) AND (?2 "
      "IS NULL OR m.run <= ?2) AND (?3 IS NULL OR t.l2 = "
      "?3) ORDER BY m.key_hash, coalesce(t.l2 = '{}', 0) DESC, m.run DESC",
      kAnotherKernel, hidden, name_of(model::L2State::kEngine)));
}

// The ids of the selected rows, in the order in which they were appended.
core::Result<std::vector<RowId>> row_ids(const Database& database,
                                         const std::vector<SourceRow>& sources,
                                         const Selection& selection) {
  Statement select = ASSAY_TRY(select_newest(database, selection.points));
  if (selection.last_run > 0) select.bind(1, selection.last_run);
  if (selection.l2) select.bind(2, name_of(*selection.l2));
  std::vector<RowId> rows;
  std::map<std::int64_t, std::size_t> number_of;
  for (std::size_t i = 0; i < sources.size(); ++i)
    number_of[sources[i].id] = i;
  const auto add = [&](std::int64_t id, std::int64_t /*run*/, std::int64_t kernel) {
    // Another process may have added a kernel meanwhile.
    if (const auto at = number_of.find(kernel); at != number_of.end())
      rows.push_back({.id = id, .source = at->second});
  };
  std::set<Family> families;
  for (const SourceRow& source : sources) {
    if (families.insert(family_of(source)).second) ASSAY_TRY(newest_rows(select, source.id, add));
  }
  std::sort(rows.begin(), rows.end(), [](const RowId& a, const RowId& b) { return a.id < b.id; });
  return rows;
}

void add_cell(ColumnBuilder& column, const Statement& row, int at) {
  switch (row.type(at)) {
    case Statement::Type::kNull:
      return column.add_missing();
    case Statement::Type::kInteger:
      return column.add(row.integer(at));
    case Statement::Type::kReal:
      return column.add(row.real(at));
    case Statement::Type::kText:
      return column.add(row.text(at));
  }
}

void add_element(ColumnBuilder& column, const simdjson::dom::element& value) {
  switch (value.type()) {
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64:
      return column.add(value.get_int64().value_unsafe());
    case simdjson::dom::element_type::DOUBLE:
      return column.add(value.get_double().value_unsafe());
    case simdjson::dom::element_type::STRING:
      return column.add(value.get_string().value_unsafe());
    default:
      return column.add_missing();
  }
}

class FrameBuilder {
 public:
  FrameBuilder(const std::vector<Layout>& layouts, const std::vector<std::string>& values) {
    for (const std::string_view name : kCommonColumns)
      columns_.emplace_back(std::string(name));
    const std::vector<std::string> key = joined_columns(layouts);
    for (const std::string& name : key)
      columns_.emplace_back(name);
    for (const std::string& name : values)
      columns_.emplace_back(name);
    first_value_ = kCommonColumns.size() + key.size();
    for (const Layout& layout : layouts)
      places_.push_back(places_of(layout, key));
  }

  core::Status add(const SourceRow& source, const Statement& row) {
    ++rows_;
    for (std::size_t i = 0; i < kCommonColumns.size(); ++i)
      columns_[i].add(std::string_view(source.common[i]));
    ASSAY_TRY(add_key(places_[source.layout], row.text(0)));
    for (std::size_t i = first_value_; i < columns_.size(); ++i)
      add_cell(columns_[i], row, static_cast<int>(i - first_value_) + 1);
    return {};
  }

  // Leaves out the columns of latency (some tables have several times instead) and power that no
  // row has.
  Frame finish() && {
    Frame frame;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool optional = i >= first_value_ && i < first_value_ + 3;
      if (optional && columns_[i].all_missing() && (rows_ > 0 || i > first_value_)) continue;
      frame.columns.push_back(std::move(columns_[i]).finish());
    }
    return frame;
  }

 private:
  // Returns one entry for each joined key column: its place in the layout, or -1.
  static std::vector<std::ptrdiff_t> places_of(const Layout& layout,
                                               const std::vector<std::string>& key) {
    std::vector<std::ptrdiff_t> places;
    for (const std::string& name : key) {
      const auto found = std::find(layout.columns.begin(), layout.columns.end(), name);
      places.push_back(found == layout.columns.end() ? -1 : found - layout.columns.begin());
    }
    return places;
  }

  core::Status add_key(const std::vector<std::ptrdiff_t>& places, std::string_view json) {
    simdjson::dom::array list;
    // An empty text has no address, and the parser would copy from it.
    if (json.empty() ||
        parser_.parse(json.data(), json.size()).get_array().get(list) != simdjson::SUCCESS) {
      return core::Error{fmt::format("the store is damaged: a row's key is '{}'", json)};
    }
    elements_.assign(list.begin(), list.end());
    for (std::size_t i = 0; i < places.size(); ++i) {
      ColumnBuilder& column = columns_[kCommonColumns.size() + i];
      const bool has = places[i] >= 0 && static_cast<std::size_t>(places[i]) < elements_.size();
      if (has) {
        add_element(column, elements_[static_cast<std::size_t>(places[i])]);
      } else {
        column.add_missing();
      }
    }
    return {};
  }

  simdjson::dom::parser parser_;
  std::vector<simdjson::dom::element> elements_;
  std::vector<ColumnBuilder> columns_;
  std::vector<std::vector<std::ptrdiff_t>> places_;  // by layout
  std::size_t first_value_ = 0;
  std::size_t rows_ = 0;
};

// The layouts that the sources use; renumbers the sources' layouts accordingly.
std::vector<Layout> used_layouts(const std::vector<Layout>& layouts,
                                 std::vector<SourceRow>& sources) {
  std::vector<Layout> used;
  std::vector<std::size_t> number(layouts.size(), layouts.size());
  for (SourceRow& source : sources) {
    std::size_t& at = number[source.layout];
    if (at == layouts.size()) {
      at = used.size();
      used.push_back(layouts[source.layout]);
    }
    source.layout = at;
  }
  return used.empty() ? layouts : used;
}

// Selects the key, then the columns that the public table has after it.
core::Result<Statement> select_row(const Database& database, Store::Columns columns) {
  std::string more;
  std::string from;
  if (columns != Store::Columns::kPublic) from = "LEFT JOIN timing t ON t.measurement = m.id";
  if (columns == Store::Columns::kWithStatistics) more = kTimingColumns;
  if (columns == Store::Columns::kWithInterval) {
    more = fmt::format(kIntervalColumns, kCertaintyFact, kNumRunsFact);
  }
  if (columns == Store::Columns::kWithConditions) more = kConditionColumns;
  if (columns == Store::Columns::kWithInterval || columns == Store::Columns::kWithConditions)
    from += " LEFT JOIN run r ON r.id = m.run";
  return database.prepare(
      fmt::format("{}{} FROM measurement m {} WHERE m.id = ?1", kRowColumns, more, from));
}

core::Status add_dates(Statement& dates, const std::vector<std::int64_t>& runs, Content& content) {
  for (const std::int64_t run : runs) {
    dates.bind(0, run);
    if (!ASSAY_TRY(dates.step())) continue;
    const std::string first(dates.text(0));
    const std::string last(dates.text(1));
    if (content.first_at.empty() || first < content.first_at) content.first_at = first;
    if (last > content.last_at) content.last_at = last;
    dates.reset();
  }
  return {};
}

// Adds to the last content where only the columns of the keys differ.
void add_content(std::vector<Content>& contents, Content content) {
  if (content.rows == 0) return;
  const auto name = [](const Content& named) {
    return std::tie(named.table, named.framework, named.version, named.device, named.op_name);
  };
  if (contents.empty() || name(contents.back()) != name(content)) {
    contents.push_back(std::move(content));
    return;
  }
  Content& last = contents.back();
  last.rows += content.rows;
  last.first_at = std::min(last.first_at, content.first_at);
  last.last_at = std::max(last.last_at, content.last_at);
}

}  // namespace

core::Result<std::vector<std::string>> Store::tables() const {
  Statement select = ASSAY_TRY(
      state_->database.prepare("SELECT DISTINCT table_name FROM layout ORDER BY table_name"));
  std::vector<std::string> names;
  while (ASSAY_TRY(select.step()))
    names.emplace_back(select.text(0));
  return names;
}

core::Result<std::vector<std::string>> Store::columns(const std::string& table) const {
  const std::vector<Layout> layouts = ASSAY_TRY(layouts_of(state_->database, table));
  if (layouts.empty()) return std::vector<std::string>();
  std::vector<std::string> names(kCommonColumns.begin(), kCommonColumns.end());
  const std::vector<std::string> key = joined_columns(layouts);
  names.insert(names.end(), key.begin(), key.end());
  names.insert(names.end(), kValueColumns.begin(), kValueColumns.end());
  return names;
}

core::Result<Frame> Store::table(const Selection& selection, Columns columns) const {
  const Database& database = state_->database;
  const std::vector<Layout> layouts = ASSAY_TRY(layouts_of(database, selection.table));
  if (layouts.empty()) {
    return no_table(database, selection.table, ASSAY_TRY(tables()));
  }
  std::vector<SourceRow> sources = ASSAY_TRY(sources_of(database, selection, layouts));
  const std::vector<RowId> rows = ASSAY_TRY(row_ids(database, sources, selection));
  const std::vector<Layout> used = used_layouts(layouts, sources);
  Statement select = ASSAY_TRY(select_row(database, columns));
  FrameBuilder builder(used, select.column_names(1));
  for (const RowId& row : rows) {
    select.bind(0, row.id);
    // Another process may have replaced the case meanwhile.
    if (!ASSAY_TRY(select.step())) continue;
    ASSAY_TRY(builder.add(sources[row.source], select));
    select.reset();
  }
  return std::move(builder).finish();
}

core::Result<std::vector<Content>> Store::list(Points points) const {
  const Database& database = state_->database;
  Statement dates =
      ASSAY_TRY(database.prepare("SELECT started_at, last_at FROM run WHERE id = ?1"));
  Statement newest = ASSAY_TRY(select_newest(database, points));
  Statement select = ASSAY_TRY(database.prepare(
      "SELECT min(s.id), table_name, framework, version, device, op_name FROM source s JOIN layout "
      "l ON l.id = s.layout GROUP BY l.id, framework, version, device, op_name ORDER BY "
      "table_name, framework, version, device, op_name"));
  std::vector<Content> contents;
  while (ASSAY_TRY(select.step())) {
    Content content{.table = std::string(select.text(1)),
                    .framework = std::string(select.text(2)),
                    .version = std::string(select.text(3)),
                    .device = std::string(select.text(4)),
                    .op_name = std::string(select.text(5))};
    std::vector<std::int64_t> runs;
    const auto count = [&](std::int64_t /*id*/, std::int64_t run, std::int64_t /*kernel*/) {
      ++content.rows;
      if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(run);
    };
    ASSAY_TRY(newest_rows(newest, select.integer(0), count));
    if (content.rows > 0) ASSAY_TRY(add_dates(dates, runs, content));
    add_content(contents, std::move(content));
  }
  return contents;
}

std::string origin_text(const Origin& origin) {
  std::vector<std::string> parts = origin.devices;
  parts.insert(parts.end(), origin.makers.begin(), origin.makers.end());
  const bool one_day = origin.first_day == origin.last_day;
  parts.push_back("measured " + origin.first_day + (one_day ? "" : " to " + origin.last_day));
  return core::join(parts, ", ");
}

}  // namespace assay::store
