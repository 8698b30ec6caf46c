// Cuts comma-separated text into lines of fields without copying those that are not quoted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::store {

class LineCutter {
 public:
  explicit LineCutter(std::string_view text);

  // False at the end; empty lines are passed over. A field is a view of the text, or of this
  // object until the next line is read. The error names the line; nothing can be read after it.
  core::Result<bool> next(std::vector<std::string_view>& fields);

  // Of the line read last; the first is 1.
  [[nodiscard]] std::int64_t line() const { return line_; }

  // The line read last is the end of the text, and nothing ends it.
  [[nodiscard]] bool is_unended() const;

 private:
  bool plain_line(std::vector<std::string_view>& fields);
  core::Status quoted_line(std::vector<std::string_view>& fields);
  [[nodiscard]] bool at_line_end() const;
  void pass_line_end();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of the line read last
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
  std::vector<std::string> unquoted_;
};

}  // namespace assay::store
