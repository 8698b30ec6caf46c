#include "cli/options.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

namespace assay::cli {
namespace {

template <class Number>
bool parse_whole(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string choice_problem(const std::string& word, std::span<const std::string> choices) {
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) return "";
  const std::string near = core::nearest(word, choices);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return fmt::format("'{}' is not {}{}{}", word, choices.size() > 1 ? "one of " : "",
                     core::join(choices, ", "), hint);
}

std::string whole_number_problem(const std::string& text) {
  int number = 0;
  if (parse_whole(text, number) && number >= 1) return "";
  return fmt::format("'{}' is not a whole number of at least 1", text);
}

std::string count_problem(const std::string& text) {
  std::uint64_t number = 0;
  if (parse_whole(text, number)) return "";
  return fmt::format("'{}' is not a whole number of at least 0", text);
}

std::string positive_number_problem(const std::string& text) {
  double number = 0;
  if (parse_whole(text, number) && std::isfinite(number) && number > 0) return "";
  return fmt::format("'{}' is not a number above 0", text);
}

std::string not_negative_problem(const std::string& text) {
  double number = 0;
  if (parse_whole(text, number) && std::isfinite(number) && number >= 0) return "";
  return fmt::format("'{}' is not a number of at least 0", text);
}

}  // namespace assay::cli
