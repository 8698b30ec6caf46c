// Comma-separated text as in RFC 4180: fields may be quoted, and then hold commas, ends of lines
// and doubled quotes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::core {

struct CsvRecord {
  std::int64_t line = 0;  // the line on which it begins, counted from 1
  std::vector<std::string> fields;
};

// Lines end with LF or CRLF; a byte order mark and empty lines are skipped. The error names the
// line of a quote that is never closed or has text around it.
Result<std::vector<CsvRecord>> parse_csv(std::string_view text);

// The field, quoted if it must be.
std::string csv_field(std::string_view field);

// The same for a text that comes from elsewhere. Spreadsheets take a text that begins with one of
// = + - @, a tab or a carriage return for a formula, and an apostrophe before it makes it a text
// again; numbers stay as they are.
std::string csv_text(std::string_view text);

// The text that csv_text() wrote as this field: without the apostrophe that it put before it.
std::string_view csv_meaning(std::string_view field);

}  // namespace assay::core
