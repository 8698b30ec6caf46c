// Counting and cutting UTF-8 by characters (code points). Input must be valid UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay::report {

std::size_t character_count(std::string_view text);

// The longest start of `text` with at most `count` characters.
std::string_view first_characters(std::string_view text, std::size_t count);

// Length in UTF-16 code units, in which Excel states its limits.
std::size_t utf16_length(std::string_view text);

// The longest start of `text` of at most `units` UTF-16 code units.
std::string_view first_utf16_units(std::string_view text, std::size_t units);

}  // namespace assay::report
