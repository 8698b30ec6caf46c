#include "report/characters.h"

namespace assay::report {
namespace {

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

std::size_t character_count(std::string_view text) {
  return total(text, one_character);
}

std::string_view first_characters(std::string_view text, std::size_t count) {
  return prefix(text, count, one_character);
}

std::size_t utf16_length(std::string_view text) {
  return total(text, utf16_units);
}

std::string_view first_utf16_units(std::string_view text, std::size_t units) {
  return prefix(text, units, utf16_units);
}

}  // namespace assay::report
