// Reads the words and the labels of GOAL text in place in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"

namespace assay::model {

struct GoalLabel {
  std::string_view text;
  std::string_view prefix;   // "l" of "l12"
  std::uint32_t number = 0;  // 12 of "l12"
  bool numbered = false;     // text is the prefix and the number, without leading zeros
};

// The labels of one rank. Nearly every file numbers its labels (l0, l1, …); those are found by
// number, all others by hash.
class GoalLabels {
 public:
  static constexpr std::uint32_t kUndefined = 0xFFFFFFFF;

  // Returns the number of the label's operation, or kUndefined.
  [[nodiscard]] std::uint32_t find(const GoalLabel& label) const {
    if (is_dense(label) && dense_[label.number] != kUndefined) return dense_[label.number];
    return others_.empty() ? kUndefined : find_other(label);
  }

  // Returns false when the label is already defined. The label's text must stay valid until
  // clear().
  bool define(const GoalLabel& label, std::uint32_t op);

  void clear();

 private:
  [[nodiscard]] bool has_prefix(const GoalLabel& label) const {
    return label.numbered && label.prefix == prefix_;
  }

  [[nodiscard]] bool is_dense(const GoalLabel& label) const {
    return label.number < dense_.size() && has_prefix(label);
  }

  [[nodiscard]] std::uint32_t find_other(const GoalLabel& label) const;
  void make_room(const GoalLabel& label);

  std::string_view prefix_;  // the prefix of all labels in dense_: that of the first numbered label
  std::vector<std::uint32_t> dense_;
  std::size_t used_ = 0;  // dense_ is undefined from here on
  std::unordered_map<std::string_view, std::uint32_t> others_;
};

// Reads GOAL text character by character. A zero byte must follow the text. A function that fails
// notes a message and returns false, so that the caller can return as well.
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

  // Skips blanks, line ends and comments.
  bool skip_to_statement();

  // Skips blanks, and takes `c` or `word` if it is next. The language separates words only where it
  // must: "10b" and "tag7" are two words each.
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

  // Takes a letter and the letters, digits and '_' that follow it.
  bool take_label(GoalLabel& label);

  // `what` names the number in messages: "the size".
  bool take_number(std::uint64_t& number, const char* what);

  // Takes a number of at most `most`; `why` ends the message for a larger one.
  bool take_number_to(std::uint64_t most, std::uint64_t& number, const char* what, const char* why);

  // Each notes an error at the scanner's position, or at `where`, and returns false.
  bool expected(std::string_view what) const;

  bool failed(std::string_view what) const { return failed(what, at_); }

  bool failed(std::string_view what, const char* where) const;

  [[nodiscard]] const char* position() const { return at_; }

  // Returns the error that was noted: "<name>:<line>: <what>".
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
