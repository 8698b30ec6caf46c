#include "model/goal_scanner.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

namespace assay::model {
namespace {

// The table of numbered labels may grow to twice its used size plus this many entries; labels with
// larger numbers are found by hash.
constexpr std::size_t kLeap = 1024;

enum CharacterClass : std::uint8_t { kOther, kLetter, kDigit };

// '_' counts as a letter, but take_label() ensures that no label begins with it.
constexpr std::array<CharacterClass, 256> make_classes() {
  std::array<CharacterClass, 256> classes{};
  for (unsigned c = 'a'; c <= 'z'; ++c)
    classes[c] = kLetter;
  for (unsigned c = 'A'; c <= 'Z'; ++c)
    classes[c] = kLetter;
  for (unsigned c = '0'; c <= '9'; ++c)
    classes[c] = kDigit;
  classes['_'] = kLetter;
  return classes;
}

constexpr std::array<CharacterClass, 256> kClasses = make_classes();

CharacterClass class_of(char c) {
  return kClasses[static_cast<unsigned char>(c)];
}

// Numbers with at most this many digits cannot overflow.
constexpr std::ptrdiff_t kSafeDigits = 19;
constexpr std::ptrdiff_t kSafeLabelDigits = 9;

constexpr std::size_t kShownCharacters = 20;

}  // namespace

std::uint32_t GoalLabels::find_other(const GoalLabel& label) const {
  const auto found = others_.find(label.text);
  return found == others_.end() ? kUndefined : found->second;
}

void GoalLabels::make_room(const GoalLabel& label) {
  if (!label.numbered) return;
  if (prefix_.empty()) prefix_ = label.prefix;
  const std::size_t reach = 2 * used_ + kLeap;
  if (label.number >= dense_.size() && label.number < reach && has_prefix(label)) {
    dense_.resize(reach, kUndefined);
  }
}

bool GoalLabels::define(const GoalLabel& label, std::uint32_t op) {
  if (find(label) != kUndefined) return false;
  if (!is_dense(label)) make_room(label);
  if (!is_dense(label)) return others_.emplace(label.text, op).second;
  dense_[label.number] = op;
  used_ = std::max<std::size_t>(used_, label.number + std::size_t{1});
  return true;
}

void GoalLabels::clear() {
  std::fill_n(dense_.begin(), used_, kUndefined);
  used_ = 0;
  prefix_ = {};
  others_.clear();
}

bool GoalScanner::skip_comment() {
  if (at_[1] == '/') {
    while (*at_ != '\n' && !at_end())
      ++at_;
    return true;
  }
  if (at_[1] != '*') return expected("a statement");
  const char* start = at_;
  const std::size_t end = text_.find("*/", offset() + 2);
  if (end == std::string_view::npos)
    return failed("the comment that begins here has no end", start);
  go_to(end + 2);
  return true;
}

bool GoalScanner::skip_to_statement() {
  for (;;) {
    switch (*at_) {
      case ' ':
      case '\t':
      case '\n':
        ++at_;
        break;
      case '\r':
        if (at_[1] != '\n') return expected("a statement");
        at_ += 2;
        break;
      case '/':
        if (!skip_comment()) return false;
        break;
      default:
        return true;
    }
  }
}

bool GoalScanner::take_label(GoalLabel& label) {
  skip_blanks();
  if (class_of(*at_) != kLetter || *at_ == '_') return false;
  const char* start = at_;
  const char* digits = start + 1;
  while (class_of(*digits) == kLetter)
    ++digits;
  const char* end = digits;
  std::uint32_t number = 0;
  while (class_of(*end) == kDigit)
    number = number * 10 + static_cast<std::uint32_t>(*end++ - '0');
  const std::ptrdiff_t count = end - digits;
  label.numbered = count > 0 && count <= kSafeLabelDigits && (*digits != '0' || count == 1);
  if (class_of(*end) != kOther) {
    label.numbered = false;
    while (class_of(*end) != kOther)
      ++end;
  }
  label.text = {start, static_cast<std::size_t>(end - start)};
  label.prefix = {start, static_cast<std::size_t>(digits - start)};
  label.number = number;
  at_ = end;
  return true;
}

bool GoalScanner::take_number(std::uint64_t& number, const char* what) {
  skip_blanks();
  const char* start = at_;
  std::uint64_t value = 0;
  while (class_of(*at_) == kDigit)
    value = value * 10 + static_cast<std::uint64_t>(*at_++ - '0');
  if (at_ == start) return expected(what);
  number = value;
  if (at_ - start <= kSafeDigits) return true;
  value = 0;
  for (const char* digit = start; digit != at_; ++digit) {
    const auto next = static_cast<std::uint64_t>(*digit - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - next) / 10) {
      return failed(fmt::format("{} has more than 64 bits", what), start);
    }
    value = value * 10 + next;
  }
  return true;
}

bool GoalScanner::take_number_to(std::uint64_t most,
                                 std::uint64_t& number,
                                 const char* what,
                                 const char* why) {
  skip_blanks();
  const char* start = at_;
  if (!take_number(number, what)) return false;
  if (number <= most) return true;
  return failed(fmt::format("{} is {}, but {}", what, number, why), start);
}

std::string GoalScanner::found() const {
  if (at_end()) return "the end of the file";
  if (*at_ == '\n' || *at_ == '\r') return "the end of the line";
  std::size_t length = 1;
  if (class_of(*at_) != kOther) {
    while (length < kShownCharacters && class_of(at_[length]) != kOther)
      ++length;
  }
  const bool printable = *at_ >= ' ' && *at_ <= '~';
  if (!printable) return fmt::format("the byte 0x{:02x}", static_cast<unsigned char>(*at_));
  return fmt::format("'{}'", std::string_view(at_, length));
}

bool GoalScanner::expected(std::string_view what) const {
  return failed(fmt::format("expected {}, found {}", what, found()));
}

bool GoalScanner::failed(std::string_view what, const char* where) const {
  message_ = what;
  where_ = where;
  return false;
}

core::Error GoalScanner::error(std::string_view name) const {
  const auto line = 1 + std::count(text_.data(), where_, '\n');
  return core::Error{fmt::format("{}:{}: {}", name, line, message_)};
}

}  // namespace assay::model
