// Reads GOAL text character by character, where it lies in memory. A zero byte must follow the
// text. What fails leaves a message behind and returns false, so that the caller can return too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"
#include "model/goal_label.h"

namespace assay::model {

class GoalScanner {
 public:
  explicit GoalScanner(std::string_view text) : text_(text), at_(text.data()) {}

  [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(at_ - text_.data()); }

  void go_to(std::size_t offset) { at_ = text_.data() + offset; }

  [[nodiscard]] char next() const { return *at_; }

  [[nodiscard]] bool at_end() const { return offset() == text_.size(); }

  void skip_blanks() {
    while (*at_ == ' ' || *at_ == '\t')
      ++at_;
  }

  // Blanks, line ends and comments.
  bool skip_to_statement();

  // After blanks. The language parts words only where it must: "10b" and "tag7" are two each.
  bool take(char c) {
    skip_blanks();
    if (*at_ != c) return false;
    ++at_;
    return true;
  }

  bool take(std::string_view word) {
    skip_blanks();
    const char* end = at_;
    for (const char c : word) {
      if (*end++ != c) return false;
    }
    at_ = end;
    return true;
  }

  bool take_line_end() {
    skip_blanks();
    if (*at_ == '\r' && at_[1] == '\n') ++at_;
    return take('\n');
  }

  // A letter and what follows of letters, digits and '_'.
  bool take_label(GoalLabel& label);

  // `what` names the number in messages: "the size".
  bool take_number(std::uint64_t& number, const char* what);

  // At most `most`; `why` ends the message for a number above it.
  bool take_number_to(std::uint64_t most, std::uint64_t& number, const char* what, const char* why);

  // Always false; for the place where the scanner stands, or another one.
  bool expected(std::string_view what) const;

  bool failed(std::string_view what) const { return failed(what, at_); }

  bool failed(std::string_view what, const char* where) const;

  [[nodiscard]] const char* position() const { return at_; }

  // What went wrong: "<name>:<line>: <what>".
  [[nodiscard]] core::Error error(std::string_view name) const;

 private:
  bool skip_comment();
  [[nodiscard]] std::string found() const;

  std::string_view text_;
  const char* at_;
  mutable std::string message_;
  mutable const char* where_ = nullptr;
};

}  // namespace assay::model
