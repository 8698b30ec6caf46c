#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// Calls read(key, value) for each member of an object in the order of the text. Members are never
// looked up by name, because simdjson assumes then that the JSON is well formed.
template <class Read>
simdjson::error_code each_member(ondemand::object& object, const Read& read) {
  for (auto member : object) {
    std::string_view key;
    ASSAY_JSON_TRY(member.unescaped_key().get(key));
    ASSAY_JSON_TRY(read(key, member.value()));
  }
  return simdjson::SUCCESS;
}

using Value = simdjson::simdjson_result<ondemand::value>;

simdjson::error_code read_texts(Value value, std::vector<std::string>& texts) {
  ondemand::array array;
  ASSAY_JSON_TRY(value.get_array().get(array));
  for (auto item : array) {
    ASSAY_JSON_TRY(read_text(item.get_string(), texts.emplace_back()));
  }
  return simdjson::SUCCESS;
}

// Files from older versions or other programs may lack all but the name.
simdjson::error_code read_column(ondemand::object object, model::Column& column) {
  bool named = false;
  std::string better;
  ASSAY_JSON_TRY(each_member(object, [&](std::string_view key, Value value) {
    named |= key == "name";
    if (key == "name") return read_text(value.get_string(), column.name);
    if (key == "unit") return read_text(value.get_string(), column.unit);
    if (key == "better") return read_text(value.get_string(), better);
    if (key == "description") return read_text(value.get_string(), column.description);
    return simdjson::SUCCESS;
  }));
  for (const model::Better known : {model::Better::kLower, model::Better::kHigher}) {
    if (better == json_format::name_of(known)) column.better = known;
  }
  return named ? simdjson::SUCCESS : simdjson::NO_SUCH_FIELD;
}

simdjson::error_code read_columns(Value value, std::vector<model::Column>& columns) {
  ondemand::array array;
  ASSAY_JSON_TRY(value.get_array().get(array));
  for (auto item : array) {
    ondemand::object column;
    ASSAY_JSON_TRY(item.get(column));
    ASSAY_JSON_TRY(read_column(column, columns.emplace_back()));
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_style(Value value, model::Style& style) {
  ondemand::object object;
  ASSAY_JSON_TRY(value.get_object().get(object));
  return each_member(object, [&](std::string_view key, Value member) {
    if (key == "color_scales") return read_texts(member, style.color_scales);
    if (key == "excel_table") return member.get_bool().get(style.excel_table);
    if (key != "visibility") return simdjson::SUCCESS;
    std::string visibility;
    const simdjson::error_code code = read_text(member.get_string(), visibility);
    const bool hidden = visibility == json_format::name_of(model::Visibility::kHidden);
    style.visibility = hidden ? model::Visibility::kHidden : model::Visibility::kVisible;
    return code;
  });
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

using Names = std::optional<std::vector<std::string>>;

bool is_wanted(const std::string& name, const Names& names) {
  return !names || std::find(names->begin(), names->end(), name) != names->end();
}

// Reads one table. Its rows may stand before its columns.
class TableReader {
 public:
  explicit TableReader(const Names& wanted) : wanted_(wanted) {}

  core::Status read(ondemand::object& object) {
    const simdjson::error_code code = each_member(
        object, [&](std::string_view key, Value value) { return read_member(key, value); });
    if (code) return failed(what(code));
    if (!named_) return failed("its name is missing");
    if (!is_wanted()) return {};
    if (!has_columns_) return failed("its columns are missing");
    if (!has_rows_) return failed("its rows are missing");
    if (num_rows_ > 0 && width_ != table_.columns.size()) odd_row_ = 1;
    if (odd_row_ == 0) return {};
    row_ = odd_row_;
    return failed(fmt::format("not as many values as the {} columns", table_.columns.size()));
  }

  [[nodiscard]] bool is_wanted() const { return report::is_wanted(table_.name, wanted_); }

  [[nodiscard]] model::Table take() { return std::move(table_); }

 private:
  simdjson::error_code read_member(std::string_view key, Value value) {
    if (key == "name") {
      named_ = true;
      return read_text(value.get_string(), table_.name);
    }
    if (named_ && !is_wanted()) return simdjson::SUCCESS;
    if (key == "title") return read_text(value.get_string(), table_.title);
    if (key == "notes") return read_texts(value, table_.notes);
    if (key == "style") return read_style(value, table_.style);
    if (key == "columns" && !std::exchange(has_columns_, true)) {
      return read_columns(value, table_.columns);
    }
    if (key == "rows" && !std::exchange(has_rows_, true)) return read_rows(value);
    return simdjson::SUCCESS;
  }

  simdjson::error_code read_rows(Value value) {
    ondemand::array rows;
    ASSAY_JSON_TRY(value.get_array().get(rows));
    for (auto item : rows) {
      row_ = ++num_rows_;
      ondemand::array row;
      ASSAY_JSON_TRY(item.get(row));
      ASSAY_JSON_TRY(read_row(row));
    }
    row_ = 0;
    return simdjson::SUCCESS;
  }

  simdjson::error_code read_row(ondemand::array array) {
    const std::size_t before = table_.cells.size();
    for (auto item : array) {
      ondemand::value value;
      ASSAY_JSON_TRY(item.get(value));
      ASSAY_JSON_TRY(read_cell(value, table_.cells.emplace_back()));
    }
    const std::size_t width = table_.cells.size() - before;
    if (num_rows_ == 1) width_ = width;
    if (width != width_ && odd_row_ == 0) odd_row_ = num_rows_;
    return simdjson::SUCCESS;
  }

  [[nodiscard]] core::Error failed(std::string problem) const {
    core::Error error{std::move(problem)};
    if (row_ > 0) error = error.context(fmt::format("row {}", row_));
    return named_ ? error.context(fmt::format("table '{}'", table_.name)) : error;
  }

  const Names& wanted_;
  model::Table table_;
  bool named_ = false;
  bool has_columns_ = false;
  bool has_rows_ = false;
  std::size_t num_rows_ = 0;
  std::size_t width_ = 0;    // the number of values in the first row
  std::size_t odd_row_ = 0;  // the first row that has another number of them
  std::size_t row_ = 0;      // where a problem is; 0 outside the rows
};

class BookReader {
 public:
  explicit BookReader(const Names& wanted) : wanted_(wanted) {}

  core::Result<model::Book> read(ondemand::document& document) {
    ondemand::object object;
    simdjson::error_code code = document.get_object().get(object);
    if (!code) {
      code = each_member(
          object, [&](std::string_view key, Value value) { return read_member(key, value); });
    }
    ASSAY_TRY(check_format());
    ASSAY_TRY(problem_);
    if (code) return core::Error{what(code)};
    if (!has_tables_) return core::Error{"\"tables\" is missing"};
    return std::move(book_);
  }

 private:
  simdjson::error_code read_member(std::string_view key, Value value) {
    if (key == "format") return read_text(value.get_string(), format_);
    if (key == "version") return value.get_int64().get(version_);
    if (key == "tables" && !std::exchange(has_tables_, true)) return read_tables(value);
    if (key != "title") return simdjson::SUCCESS;
    const simdjson::error_code code = read_text(value.get_string(), book_.title);
    if (code) problem_ = core::Error{"title: " + what(code)};
    return code;
  }

  simdjson::error_code read_tables(Value value) {
    ondemand::array tables;
    ASSAY_JSON_TRY(value.get_array().get(tables));
    std::size_t number = 0;
    for (auto item : tables) {
      ++number;
      ondemand::object object;
      ASSAY_JSON_TRY(item.get(object));
      TableReader reader(wanted_);
      if (const core::Status status = reader.read(object); !status.ok()) {
        problem_ = status.error().context(fmt::format("table {}", number));
        return simdjson::INCORRECT_TYPE;
      }
      if (reader.is_wanted()) book_.tables.push_back(reader.take());
    }
    return simdjson::SUCCESS;
  }

  [[nodiscard]] core::Status check_format() const {
    if (format_ != json_format::kName) {
      return core::Error{
          fmt::format("not a report of assay (\"format\" is not \"{}\")", json_format::kName)};
    }
    if (version_ < 0) return core::Error{"\"version\" is missing"};
    if (version_ <= json_format::kVersion) return {};
    return core::Error{fmt::format("written by a newer assay (version {}, this one reads up to {})",
                                   version_, json_format::kVersion)};
  }

  const Names& wanted_;
  model::Book book_;
  std::string format_;
  std::int64_t version_ = -1;
  bool has_tables_ = false;
  core::Status problem_;
};

core::Result<model::Book> parse(std::string content, const Names& names) {
  content.reserve(content.size() + simdjson::SIMDJSON_PADDING);
  ondemand::parser parser;
  ondemand::document document;
  if (const auto code = parser.iterate(content).get(document); code) {
    return core::Error{fmt::format("not a whole JSON document: {}", what(code))};
  }
  return BookReader(names).read(document);
}

core::Result<model::Book> read(const std::filesystem::path& path, const Names& names) {
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
