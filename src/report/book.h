// Writes a book in each format, and reads the JSON back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"

namespace assay::report {

// Writes a workbook: numbers as numbers, a bold header row that stays in view, and colour scales,
// hidden sheets and Excel tables where the Style asks for them. Cells longer than Excel's 32,767
// characters are cut with a mark; rows past 1,048,576 go to further sheets "<name> (2)".
core::Status write_xlsx(const model::Book& book, const std::filesystem::path& path);

// Writes one file per table: <folder>/<table name>.csv (RFC 4180, full precision, empty cells where
// there is no value). The headers are the names as they are declared, because programs read sheets
// of public tools by them.
core::Status write_csv_folder(const model::Book& book, const std::filesystem::path& folder);

// With kNamesAndUnits a header tells the unit as on a terminal: "TTFT (ms)".
enum class CsvHeader { kNames, kNamesAndUnits };
std::string csv(const model::Table& table, CsvHeader header = CsvHeader::kNamesAndUnits);

// Writes one document with everything: titles, columns with units, rows.
core::Status write_json(const model::Book& book, const std::filesystem::path& path);
std::string json(const model::Book& book);
core::Result<model::Book> read_json(const std::filesystem::path& path);
core::Result<model::Book> parse_json(std::string document);
// Reads only the tables with these names, in the document's order. Skipping the others takes little
// time. A missing name is not an error.
core::Result<model::Book> read_json(const std::filesystem::path& path,
                                    const std::vector<std::string>& names);

enum class TextColors { kNone, kTerminal };

// Returns the title, the notes and aligned columns for a terminal, cut to `width` characters.
// Numbers are rounded for reading. To fit, the widest text columns are shortened first; then the
// last columns are left out, but never the first one or the column of verdicts. Left-out columns
// and the rows past `max_rows` are marked. With kTerminal, escape sequences colour the words of
// Style::verdict_column.
std::string text_table(const model::Table& table,
                       std::size_t width,
                       std::size_t max_rows,
                       TextColors colors = TextColors::kNone);

}  // namespace assay::report
