// All rows of an imported table.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "store/database/store_frame.h"
#include "store/database/store_key.h"
#include "store/database/store_state.h"

namespace assay::store {
namespace {

constexpr std::array<const char*, 5> kCommon{"framework", "version", "device", "op_name",
                                             "kernel_source"};
constexpr std::array<const char*, 3> kValues{"latency", "power", "power_limit"};

template <std::size_t kCount>
bool is_one_of(const std::array<const char*, kCount>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
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
    if (!is_one_of(kCommon, column.name) && !is_one_of(kValues, column.name)) {
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
    for (std::size_t i = 0; i < kCommon.size(); ++i)
      texts_[i] = as_text(*rows.find(kCommon[i]));
  }

  core::Result<std::int64_t> of(std::size_t row) {
    std::array<std::uint32_t, kCommon.size()> codes{};
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
  std::array<TextColumn, kCommon.size()> texts_;
  std::map<std::array<std::uint32_t, kCommon.size()>, std::int64_t> known_;
};

}  // namespace

core::Status check_rows(const Frame& rows) {
  for (const char* name : kCommon) {
    if (rows.find(name) == nullptr) return core::Error{fmt::format("no column '{}'", name)};
  }
  for (const char* name : kValues)
    ASSAY_TRY(check_numbers(rows.find(name)));
  return {};
}

core::Status insert_rows(const Database& database,
                         std::int64_t run,
                         const std::string& table,
                         const Frame& rows) {
  ASSAY_TRY(check_rows(rows));
  const std::vector<const FrameColumn*> key = key_columns(rows);
  std::vector<std::string> names;
  for (const FrameColumn* column : key)
    names.push_back(column->name);
  std::array<const FrameColumn*, kValues.size()> values{};
  for (std::size_t i = 0; i < kValues.size(); ++i)
    values[i] = rows.find(kValues[i]);
  RowSources sources(database, ASSAY_TRY(Sources(database).layout(table, names)), rows);
  KeyWriter writer(key);
  Statement insert = ASSAY_TRY(database.prepare(
      "INSERT INTO measurement(run, source, key, key_hash, latency_ms, power_watts, "
      "power_limit_watts) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
  insert.bind(0, run);
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    const std::string_view json = writer.write(row);
    insert.bind(1, ASSAY_TRY(sources.of(row)));
    insert.bind(2, json);
    insert.bind(3, static_cast<std::int64_t>(stable_hash(json)));
    for (std::size_t i = 0; i < values.size(); ++i)
      insert.bind(4 + static_cast<int>(i), real_at(values[i], row));
    ASSAY_TRY(insert.run());
  }
  return touch_run(database, run);
}

}  // namespace assay::store
