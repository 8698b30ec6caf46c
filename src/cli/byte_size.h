// Numbers of bytes on the command line: 65536, 64K, 16M, 2G, 1T.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::cli {

// Returns what nccl-tests take "16K" and "1.5G" for, 16 * 1024 and 1.5 * 1024^3, or std::nullopt if
// the text is not such a number. "g", "GB" and "GiB" are the same as "G".
inline std::optional<std::int64_t> bytes_of(const std::string& text) {
  static constexpr std::string_view kUnits = "KMGTkmgt";
  constexpr double kMost = 1e15;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (!unit.empty()) {
    const std::size_t power = kUnits.find(unit.front());
    const std::string_view rest = unit.substr(1);
    const bool is_unit = rest.empty() || rest == "B" || rest == "iB";
    if (power == std::string::npos || !is_unit) return std::nullopt;
    number = std::ldexp(number, 10 * (static_cast<int>(power) % 4 + 1));
  }
  if (!(number <= kMost)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

inline std::string bytes_problem(const std::string& text) {
  if (bytes_of(text)) return "";
  return fmt::format("'{}' is not a number of bytes, such as 65536, 64K, 16M, 2G or 1T", text);
}

}  // namespace assay::cli
