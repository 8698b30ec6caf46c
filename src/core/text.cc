#include "core/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

namespace assay::core {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Two neighbours that are swapped count as one edit.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substituted, row[j - 1] + 1, last[j] + 1});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Length of the sequence that a first byte announces, or 0.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// Overlong forms, surrogates and code points past U+10FFFF show in the second byte.
bool second_byte_fits(unsigned char first, unsigned char second) {
  if (first == 0xE0) return second >= 0xA0;
  if (first == 0xED) return second < 0xA0;
  if (first == 0xF0) return second >= 0x90;
  return first != 0xF4 || second < 0x90;
}

// Length of the valid UTF-8 sequence at the start of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = announced_length(byte(0));
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length > 1 && !second_byte_fits(byte(0), byte(1)) ? 0 : length;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// A character and its number, or one byte that is not valid UTF-8 and has no number.
struct Character {
  std::string_view bytes;
  std::optional<std::uint32_t> number;
};

// Takes the first character from a text that is not empty.
Character take_character(std::string_view& text) {
  const std::size_t length = utf8_length(text);
  Character taken{text.substr(0, std::max<std::size_t>(length, 1)), {}};
  text.remove_prefix(taken.bytes.size());
  if (length == 0) return taken;
  std::uint32_t number = static_cast<unsigned char>(taken.bytes[0]);
  if (length > 1) number &= 0x7FU >> length;
  for (const char c : taken.bytes.substr(1))
    number = number << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  taken.number = number;
  return taken;
}

// Returns whether a terminal obeys the character: the controls C0, DEL and C1, and the embeddings,
// overrides and isolates of bidirectional text.
bool commands_terminal(std::uint32_t number) {
  const bool control = number < 0x20 || (number >= 0x7F && number < 0xA0);
  const bool turns =
      (number >= 0x202A && number <= 0x202E) || (number >= 0x2066 && number <= 0x2069);
  return control || turns;
}

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// Characters past U+FFFF take four bytes in UTF-8 and two units in UTF-16.
bool starts_surrogate_pair(char c) {
  return static_cast<unsigned char>(c) >= 0xF0;
}

std::size_t utf16_units(char first_byte) {
  return starts_surrogate_pair(first_byte) ? 2 : 1;
}

std::size_t one_character(char) {
  return 1;
}

template <class Cost>
std::size_t total(std::string_view text, Cost cost) {
  std::size_t sum = 0;
  for (const char c : text) {
    if (starts_character(c)) sum += cost(c);
  }
  return sum;
}

template <class Cost>
std::string_view prefix(std::string_view text, std::size_t budget, Cost cost) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!starts_character(text[i])) continue;
    const std::size_t units = cost(text[i]);
    if (units > budget) return text.substr(0, i);
    budget -= units;
  }
  return text;
}

}  // namespace

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::string join(std::span<const int> numbers, std::string_view separator) {
  std::vector<std::string> parts;
  parts.reserve(numbers.size());
  for (const int number : numbers)
    parts.push_back(std::to_string(number));
  return join(parts, separator);
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    // Half of a short word must agree.
    const bool is_near = 2 * distance <= std::max(word.size(), candidate.size());
    if (is_near && distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // In these ranges Python's repr() and pandas' CSV writer leave out the exponent.
  const double magnitude = std::fabs(value);
  const bool fixed = value == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char buffer[64];
  const auto [end, error] =
      std::to_chars(std::begin(buffer), std::end(buffer), value,
                    fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, error == std::errc() ? end : buffer);
  if (fixed && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string json_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const auto [bytes, number] = take_character(text);
    if (number && commands_terminal(*number)) {
      escaped += fmt::format("\\u{:04x}", *number);
    } else {
      if (bytes == "\"" || bytes == "\\") escaped += '\\';
      escaped += bytes;
    }
  }
  return escaped;
}

std::string valid_utf8(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return std::string(text);
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const auto [bytes, number] = take_character(text);
    valid += number ? bytes : kReplacement;
  }
  return valid;
}

std::string printable(std::string_view text) {
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  std::string shown;
  shown.reserve(text.size());
  for (;;) {
    const auto* const plain_end = std::find_if_not(text.begin(), text.end(), is_plain);
    shown.append(text.begin(), plain_end);
    text.remove_prefix(static_cast<std::size_t>(plain_end - text.begin()));
    if (text.empty()) return shown;
    const auto [bytes, number] = take_character(text);
    shown += number && !commands_terminal(*number) ? bytes : kReplacement;
  }
}

std::string printable_line(std::string_view text) {
  std::string line = printable(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

std::size_t character_count(std::string_view text) {
  return total(text, one_character);
}

std::string_view first_characters(std::string_view text, std::size_t count) {
  return prefix(text, count, one_character);
}

std::string wrapped(std::string_view text,
                    std::size_t width,
                    std::size_t begin,
                    std::size_t indent) {
  std::string result;
  std::size_t column = begin;
  bool first_of_line = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    const std::size_t length = character_count(word);
    if (!first_of_line && column + 1 + length > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!first_of_line) {
      result += ' ';
      ++column;
    }
    first_of_line = false;
    result += word;
    column += length;
  }
  return result;
}

std::size_t utf16_length(std::string_view text) {
  return total(text, utf16_units);
}

std::string_view first_utf16_units(std::string_view text, std::size_t units) {
  return prefix(text, units, utf16_units);
}

}  // namespace assay::core
