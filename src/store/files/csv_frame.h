// Frames as comma-separated text: a line of names, then one line for each row. This is much faster
// than core/csv.h, which makes a string of every field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "store/files/frame.h"

namespace assay::store {

struct CsvFrameOptions {
  // Columns that stay text even where every field reads as a number: version "2.20" is not 2.2.
  std::vector<std::string> text_columns = {};
  // The names, for a text that has no line of names.
  std::vector<std::string> header = {};
};

// A column becomes whole numbers if all its fields are whole numbers, else doubles if all are
// numbers, else text; an empty field is a missing value. Fields may be quoted as in RFC 4180.
//
// `warnings` counts a last line that breaks off (dropped), a last line without its end (kept), and
// names repeated between rows (dropped), as joined files have them. Errors name the line: the
// number of fields differs from the number of names, a quote is never closed, a name is used twice,
// or there are no names.
core::Result<Frame> read_csv_frame(std::string_view text,
                                   model::Warnings& warnings,
                                   const CsvFrameOptions& options = {});

// Writes doubles in the shortest form that reads back as the same number, with a point or exponent.
std::string write_csv_frame(const Frame& frame);

// Cuts comma-separated text into lines of fields without copying those that are not quoted.
class LineCutter {
 public:
  explicit LineCutter(std::string_view text);

  // Reads the next line that is not empty; false at the end. A field is a view of the text, or of
  // this object until the next line is read. The error names the line, or is that of
  // core::check_interrupt(); nothing can be read after it.
  core::Result<bool> next(std::vector<std::string_view>& fields);

  // The number of the line that was read last; the first line is 1.
  [[nodiscard]] std::int64_t line() const { return line_; }

  // Returns whether the line that was read last is the last of the text and has no line end.
  [[nodiscard]] bool is_unended() const;

 private:
  bool plain_line(std::vector<std::string_view>& fields);
  core::Status quoted_line(std::vector<std::string_view>& fields);
  [[nodiscard]] bool at_line_end() const;
  void pass_line_end();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of the line that was read last
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
  std::vector<std::string> unquoted_;
};

}  // namespace assay::store
