// Makes text that a worksheet can hold.
#pragma once

#include <cstddef>
#include <string>

namespace assay::report {

// Excel's limit for the text of a cell, in UTF-16 code units.
constexpr std::size_t kMaxCellUnits = 32767;

// The end of a cell that was longer than the limit.
constexpr const char* kCutMark = " … [cut]";

// Returns `text` itself when a worksheet can hold it as it is, which is nearly always; otherwise a
// corrected copy, made in `buffer`. Characters that XML cannot hold (control characters except tab
// and newline, invalid UTF-8, U+FFFE and U+FFFF) become U+FFFD, text that Excel would read as an
// escape ("_x0041_") is escaped, and a text that is too long is cut and ends with kCutMark.
const std::string& worksheet_text(const std::string& text, std::string& buffer);

}  // namespace assay::report
