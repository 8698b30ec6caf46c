// Text helpers without a domain word.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::core {

// Returns whether `c` is one of 0 to 9, in any locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string join(std::span<const std::string> parts, std::string_view separator);
std::string join(std::span<const int> numbers, std::string_view separator);

// Makes ASCII letters lower-case.
std::string lower_case(std::string text);

bool contains_ignoring_case(std::string_view text, std::string_view part);

// The candidate nearest to `word` by edit distance, or "" when none is near enough to suggest.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// The shortest text that reads back as the same double: "0.1", "1e-09", "2048.0" (a point is
// always there). NaN is "nan".
std::string shortest(double value);

// Escapes for a JSON string, without the quotes, so that it is printable too. Bytes that are not
// valid UTF-8 are passed through.
std::string json_escaped(std::string_view text);

// Replaces bytes that are not valid UTF-8 by U+FFFD.
std::string valid_utf8(std::string_view text);

// Replaces what a terminal would obey rather than show by U+FFFD: control characters other than the
// end of a line and the tab, the characters that turn the direction of the text after them, and
// bytes that are not valid UTF-8.
std::string printable(std::string_view text);

// The same on one line: ends of lines and tabs are spaces.
std::string printable_line(std::string_view text);

// The functions below count and cut UTF-8 by characters (code points). Input must be valid UTF-8.

std::size_t character_count(std::string_view text);

// The longest start of `text` with at most `count` characters.
std::string_view first_characters(std::string_view text, std::size_t count);

// Breaks text at spaces into lines of at most `width` characters, except for words that are longer.
// The first line begins in column `begin`; the others begin with `indent` spaces.
std::string wrapped(std::string_view text,
                    std::size_t width,
                    std::size_t begin,
                    std::size_t indent);

// Length in UTF-16 code units, in which Excel states its limits.
std::size_t utf16_length(std::string_view text);

// The longest start of `text` of at most `units` UTF-16 code units.
std::string_view first_utf16_units(std::string_view text, std::size_t units);

}  // namespace assay::core
