// Numbers of bytes on the command line: 65536, 64K, 16M, 2G.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace assay::cli {

// Returns 16 * 1024 for "16K" and 1.5 * 1024^3 for "1.5G", or std::nullopt if the text is not such
// a number.
inline std::optional<std::int64_t> bytes_of(const std::string& text) {
  static const std::map<char, double> units = {
      {'K', 1024.0}, {'M', 1024.0 * 1024}, {'G', 1024.0 * 1024 * 1024}};
  constexpr double kMost = 1e15;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  const auto unit = stop == end ? units.end() : units.find(*stop);
  if (code != std::errc() || !(number >= 0)) return std::nullopt;
  if (stop != end && (unit == units.end() || stop + 1 != end)) return std::nullopt;
  const double bytes = number * (unit == units.end() ? 1 : unit->second);
  if (!(bytes <= kMost)) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

inline std::string bytes_problem(const std::string& text) {
  if (bytes_of(text)) return "";
  return fmt::format("'{}' is not a number of bytes, such as 65536, 64K, 16M or 2G", text);
}

}  // namespace assay::cli
