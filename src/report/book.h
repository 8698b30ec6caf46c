// Writes a book in every format from its one declaration, and reads the JSON back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/table.h"

namespace assay::report {

// Workbook: numbers as numbers, a bold header row that stays in view, colour scales, hidden
// sheets, Excel tables as the Style asks. Cells longer than Excel's 32,767 characters are cut
// with a mark; rows past 1,048,576 go to further sheets "<name> (2)".
core::Status write_xlsx(const model::Book& book, const std::filesystem::path& path);

// One file per table: <folder>/<table name>.csv (RFC 4180, full precision, empty for no value).
core::Status write_csv_folder(const model::Book& book, const std::filesystem::path& folder);
std::string csv(const model::Table& table);

// One document with everything: titles, columns with units, rows.
core::Status write_json(const model::Book& book, const std::filesystem::path& path);
std::string json(const model::Book& book);
core::Result<model::Book> read_json(const std::filesystem::path& path);
core::Result<model::Book> parse_json(std::string document);
// Reads only the tables with these names, in the document's order. Skipping the others takes little
// time. A name that is not there is no error.
core::Result<model::Book> read_json(const std::filesystem::path& path,
                                    const std::vector<std::string>& names);

enum class TextColors { kNone, kTerminal };

// Title, notes and aligned columns for a terminal, cut to `width` characters. Numbers are
// rounded for reading; the widest text columns are shortened first, then the last columns left
// out, but never the first one and that of the verdicts; both and the rows past `max_rows` are
// marked. With kTerminal the words of Style::verdict_column are coloured by escape sequences.
std::string text_table(const model::Table& table,
                       std::size_t width,
                       std::size_t max_rows,
                       TextColors colors = TextColors::kNone);

}  // namespace assay::report
