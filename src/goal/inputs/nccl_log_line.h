// Reads the parts of a line that NCCL logs.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace assay::goal {

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Reads the number at the front, decimal or hexadecimal after 0x, and removes it.
template <class Integer>
bool take_number(std::string_view& text, Integer& value) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

inline bool take_text(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// Reads the number after the first occurrence of `key`.
template <class Integer>
bool number_after(std::string_view text, std::string_view key, Integer& value) {
  const std::size_t found = text.find(key);
  if (found == std::string_view::npos) return false;
  text.remove_prefix(found + key.size());
  return take_number(text, value);
}

inline std::string_view word_after(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  if (found == std::string_view::npos) return {};
  text.remove_prefix(found + key.size());
  return text.substr(0, text.find(' '));
}

inline constexpr std::string_view kNcclMark = " NCCL INFO ";

// A line such as "[launcher's prefix] host:1097:1130 [0] NCCL INFO message".
struct NcclLine {
  std::string_view host;
  std::int64_t process_id = 0;
  std::int64_t thread_id = 0;
  std::int32_t device = -1;
  std::string_view message;
};

// Returns std::nullopt for a line that is not NCCL's.
inline std::optional<NcclLine> split_nccl_line(std::string_view text) {
  const std::size_t mark = text.find(kNcclMark);
  if (mark == std::string_view::npos) return std::nullopt;
  NcclLine line;
  line.message = text.substr(mark + kNcclMark.size());
  if (!line.message.empty() && line.message.back() == '\r') line.message.remove_suffix(1);
  std::string_view prefix = text.substr(0, mark);
  const std::size_t bracket = prefix.rfind(" [");
  if (bracket == std::string_view::npos) return std::nullopt;
  std::string_view device = prefix.substr(bracket + 2);
  take_number(device, line.device);
  prefix = prefix.substr(0, bracket);
  prefix.remove_prefix(prefix.rfind(' ') + 1);  // npos + 1 is 0
  const std::size_t first = prefix.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  line.host = prefix.substr(0, first);
  prefix.remove_prefix(first + 1);
  if (!take_number(prefix, line.process_id) || !take_text(prefix, ":") ||
      !take_number(prefix, line.thread_id)) {
    return std::nullopt;
  }
  return line;
}

}  // namespace assay::goal
