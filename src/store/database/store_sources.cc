#include <fmt/core.h>

#include "store/database/store_key.h"
#include "store/database/store_state.h"

namespace assay::store {
namespace {

// The views share a name space with the store's own tables.
core::Status check_table_name(const Database& database, const std::string& table) {
  Statement taken = ASSAY_TRY(
      database.prepare("SELECT 1 FROM sqlite_master WHERE type <> 'view' AND name = ?1 COLLATE "
                       "NOCASE"));
  taken.bind(0, std::string_view(table));
  const bool found = ASSAY_TRY(taken.step());
  if (!found && !table.empty() && table.rfind("sqlite_", 0) != 0) return {};
  return core::Error{fmt::format("a table cannot have the name '{}'", table)};
}

}  // namespace

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
