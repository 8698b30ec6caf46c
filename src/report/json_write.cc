#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/output_file.h"
#include "core/text.h"
#include "model/table.h"
#include "report/book.h"
#include "report/json_format.h"

namespace assay::report {
namespace {

// A table of a million rows is half a gigabyte of text, which need not be in memory as a whole.
constexpr std::size_t kJsonPieceBytes = 1 << 20;

// Text on its way to a sink, which gets it in pieces.
struct Output {
  const core::WritePiece& write;
  std::string pending = {};

  core::Status pass_on(std::size_t least_bytes) {
    if (pending.size() < least_bytes) return {};
    ASSAY_TRY(write(pending));
    pending.clear();
    return {};
  }
};

void append_string(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  out += '"';
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    out += text;
  } else {
    out += core::json_escaped(core::valid_utf8(text));
  }
  out += '"';
}

struct CellAppender {
  std::string& out;

  void operator()(std::monostate) const { out += "null"; }

  void operator()(bool value) const { out += value ? "true" : "false"; }

  void operator()(std::int64_t value) const {
    char digits[24];
    out.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
  }

  // JSON has no NaN and no infinity. A point or an exponent distinguishes a double from an integer.
  void operator()(double value) const {
    if (!std::isfinite(value)) {
      out += "null";
      return;
    }
    char digits[32];
    const char* end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
    const std::string_view written(digits, static_cast<std::size_t>(end - digits));
    out += written;
    if (written.find_first_of(".e") == std::string_view::npos) out += ".0";
  }

  void operator()(const std::string& value) const { append_string(out, value); }
};

// Calls `append` for each item, with a comma between items.
template <class Items, class Append>
void append_list(std::string& out, const Items& items, Append append) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    append(item);
  }
  out += ']';
}

void append_strings(std::string& out, const std::vector<std::string>& items) {
  append_list(out, items, [&](const std::string& item) { append_string(out, item); });
}

void append_field(std::string& out, std::string_view key, std::string_view text) {
  append_string(out, key);
  out += ':';
  append_string(out, text);
}

void append_column(std::string& out, const model::Column& column) {
  out += "\n   {";
  append_field(out, "name", column.name);
  out += ',';
  append_field(out, "unit", column.unit);
  out += ',';
  append_field(out, "better", json_format::name_of(column.better));
  out += ',';
  append_field(out, "description", column.description);
  out += '}';
}

void append_style(std::string& out, const model::Style& style) {
  out += "{";
  append_field(out, "visibility", json_format::name_of(style.visibility));
  out += ",\"color_scales\":";
  append_strings(out, style.color_scales);
  out += ",\"excel_table\":";
  out += style.excel_table ? "true}" : "false}";
}

core::Status append_rows(Output& output, const model::Table& table) {
  std::string& out = output.pending;
  const CellAppender append{out};
  model::RowReader rows(table);
  out += '[';
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    out += row == 0 ? "\n   " : ",\n   ";
    append_list(out, rows.row(row), [&](const model::Cell& cell) { std::visit(append, cell); });
    ASSAY_TRY(output.pass_on(kJsonPieceBytes));
  }
  out += ']';
  return {};
}

core::Status append_table(Output& output, const model::Table& table) {
  std::string& out = output.pending;
  out += "\n {";
  append_field(out, "name", table.name);
  out += ",\n  ";
  append_field(out, "title", table.title);
  out += ",\n  \"notes\":";
  append_strings(out, table.notes);
  out += ",\n  \"style\":";
  append_style(out, table.style);
  out += ",\n  \"columns\":";
  append_list(out, table.columns, [&](const model::Column& c) { append_column(out, c); });
  out += ",\n  \"rows\":";
  ASSAY_TRY(append_rows(output, table));
  out += '}';
  return {};
}

core::Status append_book(const model::Book& book, const core::WritePiece& write) {
  Output output{write};
  std::string& out = output.pending;
  out += '{';
  append_field(out, "format", json_format::kName);
  out += ",\"version\":" + std::to_string(json_format::kVersion) + ",\n ";
  append_field(out, "title", book.title);
  out += ",\n \"tables\":[";
  for (std::size_t t = 0; t < book.tables.size(); ++t) {
    if (t > 0) out += ',';
    ASSAY_TRY(append_table(output, book.tables[t]));
  }
  out += "]}\n";
  return output.pass_on(0);
}

}  // namespace

std::string json(const model::Book& book) {
  std::string text;
  const core::Status appended = append_book(book, [&](std::string_view piece) -> core::Status {
    text += piece;
    return {};
  });
  ASSAY_CHECK(appended.ok(), "appending to a string cannot fail");
  return text;
}

core::Status write_json(const model::Book& book, const std::filesystem::path& path) {
  return core::write_file_in_pieces(
      path, [&](const core::WritePiece& write) { return append_book(book, write); });
}

}  // namespace assay::report
