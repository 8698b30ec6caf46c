#include "core/csv.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/check.h"
#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"
#include "model/table.h"
#include "report/book.h"
#include "report/column_header.h"

namespace assay::report {
namespace {

constexpr std::size_t kCsvPieceBytes = 1 << 20;

std::string field(const model::Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  // Numbers have nothing to quote.
  return text == nullptr ? model::text(cell) : core::csv_text(core::valid_utf8(*text));
}

void append_row(std::span<const model::Cell> row, std::string& text) {
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (c > 0) text += ',';
    text += field(row[c]);
  }
  text += '\n';
}

// A table of a million rows is half a gigabyte of text, which need not be in memory as a whole.
core::Status append_csv(const model::Table& table,
                        CsvHeader header,
                        const core::WritePiece& write) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) text += ',';
    const model::Column& column = table.columns[c];
    const std::string& shown = header == CsvHeader::kNames ? column.name : column_header(column);
    text += core::csv_text(core::valid_utf8(shown));
  }
  text += '\n';
  model::RowReader rows(table);
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    append_row(rows.row(row), text);
    if (text.size() < kCsvPieceBytes) continue;
    ASSAY_TRY(write(text));
    text.clear();
  }
  return write(text);
}

}  // namespace

std::string csv(const model::Table& table, CsvHeader header) {
  std::string text;
  const auto append = [&](std::string_view piece) -> core::Status {
    text += piece;
    return {};
  };
  const core::Status appended = append_csv(table, header, append);
  ASSAY_CHECK(appended.ok(), "appending to a string cannot fail");
  return text;
}

core::Status write_csv_folder(const model::Book& book, const std::filesystem::path& folder) {
  ASSAY_TRY(core::make_directories(folder));
  for (const model::Table& table : book.tables) {
    ASSAY_TRY(core::check_file_name(table.name));
    ASSAY_TRY(core::write_file_in_pieces(
        folder / (table.name + ".csv"),
        [&](const core::WritePiece& write) { return append_csv(table, CsvHeader::kNames, write); },
        core::Durability::kUnsynced));
  }
  return {};
}

}  // namespace assay::report
