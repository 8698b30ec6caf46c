// Counts in sentences.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <string>
#include <string_view>

namespace assay::core {

// "1 copy", "2 copies": the count with the word for one, or the word for more.
template <std::integral Count>
std::string counted(Count count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

// "1 row", "2 rows": the same of a noun whose plural only has an s behind it.
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace assay::core
