#include "core/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace assay::core {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_formula(std::string_view text) {
  constexpr std::string_view kStarts = "=+-@\t\r";
  return text.size() > 1 && kStarts.find(text.front()) != std::string_view::npos;
}

// Returns how many apostrophes the text begins with.
std::size_t apostrophes(std::string_view text) {
  return std::min(text.find_first_not_of('\''), text.size());
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<CsvRecord>> records() {
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) at_ = kByteOrderMark.size();
    std::vector<CsvRecord> records;
    while (at_ < text_.size()) {
      if (skip_line_end()) continue;
      records.push_back(ASSAY_TRY(record()));
    }
    return records;
  }

 private:
  Result<CsvRecord> record() {
    CsvRecord record{.line = line_, .fields = {}};
    for (;;) {
      record.fields.push_back(ASSAY_TRY(field()));
      if (at_ == text_.size() || skip_line_end()) return record;
      if (text_[at_] != ',') {
        return Error{fmt::format("line {}: text behind a closing quote", line_)};
      }
      ++at_;
    }
  }

  Result<std::string> field() {
    if (at_ < text_.size() && text_[at_] == '"') return quoted_field();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) {
      if (text_[at_] == '"') {
        return Error{fmt::format("line {}: a quote inside a field that is not quoted", line_)};
      }
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<std::string> quoted_field() {
    const std::int64_t first_line = line_;
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        if (at_ == text_.size() || text_[at_] != '"') return field;
      }
      if (text_[at_] == '\n') ++line_;
      field += text_[at_];
    }
    return Error{fmt::format("line {}: a quote that is never closed", first_line)};
  }

  [[nodiscard]] bool at_line_end() const {
    return text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
  }

  bool skip_line_end() {
    if (!at_line_end()) return false;
    at_ += text_[at_] == '\n' ? 1 : 2;
    ++line_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace

Result<std::vector<CsvRecord>> parse_csv(std::string_view text) {
  return Parser(text).records();
}

std::string csv_field(std::string_view field) {
  const bool plain = field.find_first_of(",\"\r\n") == std::string_view::npos;
  if (plain && !field.starts_with(kByteOrderMark)) return std::string(field);
  std::string result = "\"";
  for (const char c : field) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string csv_text(std::string_view text) {
  const bool guarded = is_formula(text.substr(apostrophes(text))) && !is_number(text);
  return csv_field(guarded ? "'" + std::string(text) : std::string(text));
}

std::string_view csv_meaning(std::string_view field) {
  const std::size_t count = apostrophes(field);
  return count > 0 && is_formula(field.substr(count)) ? field.substr(1) : field;
}

}  // namespace assay::core
