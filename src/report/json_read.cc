#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "model/table.h"
#include "report/book.h"
#include "report/json_format.h"

namespace assay::report {
namespace {

namespace ondemand = simdjson::ondemand;

std::string what(simdjson::error_code code) {
  return simdjson::error_message(code);
}

// Returns an error to the caller, in functions that return simdjson::error_code.
#define ASSAY_JSON_TRY(expr)                                                           \
  do {                                                                                 \
    if (const simdjson::error_code json_code_ = (expr); json_code_) return json_code_; \
  } while (false)

simdjson::error_code read_text(simdjson::simdjson_result<std::string_view> value,
                               std::string& text) {
  std::string_view view;
  ASSAY_JSON_TRY(std::move(value).get(view));
  text = view;
  return simdjson::SUCCESS;
}

// Reads an optional key, which files from older versions or other programs may lack.
simdjson::error_code read_optional_text(ondemand::object& object,
                                        std::string_view key,
                                        std::string& text) {
  const simdjson::error_code code = read_text(object[key].get_string(), text);
  return code == simdjson::NO_SUCH_FIELD ? simdjson::SUCCESS : code;
}

simdjson::error_code read_optional_texts(ondemand::object& object,
                                         std::string_view key,
                                         std::vector<std::string>& texts) {
  ondemand::array array;
  const simdjson::error_code code = object[key].get(array);
  if (code == simdjson::NO_SUCH_FIELD) return simdjson::SUCCESS;
  if (code) return code;
  for (auto item : array) {
    ASSAY_JSON_TRY(read_text(item.get_string(), texts.emplace_back()));
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_column(ondemand::object object, model::Column& column) {
  ASSAY_JSON_TRY(read_text(object["name"].get_string(), column.name));
  ASSAY_JSON_TRY(read_optional_text(object, "unit", column.unit));
  std::string better;
  ASSAY_JSON_TRY(read_optional_text(object, "better", better));
  for (const model::Better value : {model::Better::kLower, model::Better::kHigher}) {
    if (better == json_format::name_of(value)) column.better = value;
  }
  return read_optional_text(object, "description", column.description);
}

simdjson::error_code read_style(ondemand::object& table, model::Style& style) {
  ondemand::object object;
  const simdjson::error_code code = table["style"].get(object);
  if (code == simdjson::NO_SUCH_FIELD) return simdjson::SUCCESS;
  if (code) return code;
  std::string visibility;
  ASSAY_JSON_TRY(read_optional_text(object, "visibility", visibility));
  const bool hidden = visibility == json_format::name_of(model::Visibility::kHidden);
  style.visibility = hidden ? model::Visibility::kHidden : model::Visibility::kVisible;
  ASSAY_JSON_TRY(read_optional_texts(object, "color_scales", style.color_scales));
  const simdjson::error_code missing = object["excel_table"].get(style.excel_table);
  return missing == simdjson::NO_SUCH_FIELD ? simdjson::SUCCESS : missing;
}

simdjson::error_code read_number(ondemand::value& value, model::Cell& cell) {
  ondemand::number number;
  ASSAY_JSON_TRY(value.get_number().get(number));
  if (number.is_int64()) {
    cell = number.get_int64();
  } else {
    cell = number.as_double();
  }
  return simdjson::SUCCESS;
}

// Reads a value that starts with 'n'. Asking a simdjson_result for its bool throws on "nil".
simdjson::error_code read_null(ondemand::value& value) {
  bool null = false;
  ASSAY_JSON_TRY(simdjson::simdjson_result<bool>(value.is_null()).get(null));
  return null ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
}

simdjson::error_code read_cell(ondemand::value& value, model::Cell& cell) {
  ondemand::json_type type{};
  ASSAY_JSON_TRY(value.type().get(type));
  switch (type) {
    case ondemand::json_type::number:
      return read_number(value, cell);
    case ondemand::json_type::string:
      return read_text(value.get_string(), cell.emplace<std::string>());
    case ondemand::json_type::boolean:
      return value.get_bool().get(cell.emplace<bool>());
    case ondemand::json_type::null:
      return read_null(value);
    default:
      return simdjson::INCORRECT_TYPE;
  }
}

simdjson::error_code read_row(ondemand::array array, model::Table& table) {
  const std::size_t before = table.cells.size();
  for (auto item : array) {
    ondemand::value value;
    ASSAY_JSON_TRY(item.get(value));
    ASSAY_JSON_TRY(read_cell(value, table.cells.emplace_back()));
  }
  const bool filled = table.cells.size() - before == table.columns.size();
  return filled ? simdjson::SUCCESS : simdjson::INDEX_OUT_OF_BOUNDS;
}

simdjson::error_code read_columns(ondemand::object& object, model::Table& table) {
  ondemand::array columns;
  ASSAY_JSON_TRY(object["columns"].get(columns));
  for (auto item : columns) {
    ondemand::object column;
    ASSAY_JSON_TRY(item.get(column));
    ASSAY_JSON_TRY(read_column(column, table.columns.emplace_back()));
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_head(ondemand::object& object, model::Table& table) {
  ASSAY_JSON_TRY(read_optional_text(object, "title", table.title));
  ASSAY_JSON_TRY(read_optional_texts(object, "notes", table.notes));
  ASSAY_JSON_TRY(read_style(object, table.style));
  return read_columns(object, table);
}

core::Status read_rows(ondemand::object& object, model::Table& table) {
  ondemand::array rows;
  if (const auto code = object["rows"].get(rows); code) return core::Error{"rows: " + what(code)};
  std::size_t number = 0;
  for (auto item : rows) {
    ++number;
    ondemand::array row;
    auto code = item.get(row);
    if (!code) code = read_row(row, table);
    if (code == simdjson::INDEX_OUT_OF_BOUNDS) {
      return core::Error{fmt::format("row {}: not as many values as the {} columns", number,
                                     table.columns.size())};
    }
    if (code) return core::Error{fmt::format("row {}: {}", number, what(code))};
  }
  return {};
}

core::Result<model::Table> read_table(ondemand::object& object, std::string name) {
  model::Table table{std::move(name), {}, {}};
  // The rows come last, because their length is checked against the columns.
  const simdjson::error_code code = read_head(object, table);
  const core::Status status = code ? core::Error{what(code)} : read_rows(object, table);
  if (!status.ok()) return status.error().context(fmt::format("table '{}'", table.name));
  return table;
}

core::Status check_format(ondemand::document& document) {
  std::string_view format;
  if (document["format"].get(format) || format != json_format::kName) {
    return core::Error{
        fmt::format("not a report of assay (\"format\" is not \"{}\")", json_format::kName)};
  }
  std::int64_t version = 0;
  if (document["version"].get(version)) return core::Error{"\"version\" is missing"};
  if (version > json_format::kVersion) {
    return core::Error{fmt::format("written by a newer assay (version {}, this one reads up to {})",
                                   version, json_format::kVersion)};
  }
  return {};
}

bool wanted(const std::string& name, const std::optional<std::vector<std::string>>& names) {
  return !names || std::find(names->begin(), names->end(), name) != names->end();
}

core::Result<model::Book> read_book(ondemand::document& document,
                                    const std::optional<std::vector<std::string>>& names) {
  ASSAY_TRY(check_format(document));
  model::Book book;
  // After an error other than this one, the document must not be asked for anything else.
  if (const auto code = read_text(document["title"].get_string(), book.title);
      code && code != simdjson::NO_SUCH_FIELD) {
    return core::Error{"title: " + what(code)};
  }
  ondemand::array tables;
  if (const auto code = document["tables"].get(tables); code) {
    return core::Error{"tables: " + what(code)};
  }
  for (auto item : tables) {
    ondemand::object object;
    std::string name;
    auto code = item.get(object);
    if (!code) code = read_text(object["name"].get_string(), name);
    if (code) return core::Error{fmt::format("table {}: {}", book.tables.size() + 1, what(code))};
    if (!wanted(name, names)) continue;
    book.tables.push_back(ASSAY_TRY(read_table(object, std::move(name))));
  }
  return book;
}

core::Result<model::Book> parse(std::string content,
                                const std::optional<std::vector<std::string>>& names) {
  content.reserve(content.size() + simdjson::SIMDJSON_PADDING);
  ondemand::parser parser;
  ondemand::document document;
  if (const auto code = parser.iterate(content).get(document); code) {
    return core::Error{fmt::format("not a whole JSON document: {}", what(code))};
  }
  return read_book(document, names);
}

core::Result<model::Book> read(const std::filesystem::path& path,
                               const std::optional<std::vector<std::string>>& names) {
  core::Result<model::Book> book = parse(ASSAY_TRY(core::read_file(path)), names);
  if (book.ok()) return book;
  return book.error().context(fmt::format("'{}'", path.string()));
}

}  // namespace

core::Result<model::Book> read_json(const std::filesystem::path& path) {
  return read(path, std::nullopt);
}

core::Result<model::Book> parse_json(std::string document) {
  return parse(std::move(document), std::nullopt);
}

core::Result<model::Book> read_json(const std::filesystem::path& path,
                                    const std::vector<std::string>& names) {
  return read(path, names);
}

}  // namespace assay::report
