// Makes text that XML, and a worksheet in it, can hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::report {

// Excel's limit for the text of a cell, in UTF-16 code units.
constexpr std::size_t kMaxCellUnits = 32767;

// The end of a cell that was longer than the limit.
constexpr const char* kCutMark = " … [cut]";

// Replaces what XML cannot hold (control characters except tab and newline, invalid UTF-8, U+FFFE
// and U+FFFF) by U+FFFD.
std::string xml_text(std::string_view text);

// Returns `text` itself when a worksheet can hold it as it is, which is nearly always; otherwise a
// corrected copy, made in `buffer`. It is xml_text(), with what Excel would read as an escape
// ("_x0041_") escaped, and a text that is too long is cut and ends with kCutMark.
const std::string& worksheet_text(const std::string& text, std::string& buffer);

}  // namespace assay::report
