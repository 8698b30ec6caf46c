// The pieces of a line that NCCL logs.
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

// Reads the number right at the front and removes it: decimal, or hexadecimal after 0x.
template <class Integer>
bool take_number(std::string_view& text, Integer& value) {
  const int base = text.substr(0, 2) == "0x" ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

inline bool take_text(std::string_view& text, std::string_view expected) {
  if (text.substr(0, expected.size()) != expected) return false;
  text.remove_prefix(expected.size());
  return true;
}

// The number after the first occurrence of `key`.
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

// "[launcher's prefix] host:1097:1130 [0] NCCL INFO message"
struct NcclLine {
  std::string_view host;
  std::int64_t process_id = 0;
  std::int64_t thread_id = 0;
  std::int32_t device = -1;
  std::string_view message;
};

// Nothing for a line that is not NCCL's.
std::optional<NcclLine> split_nccl_line(std::string_view text);

}  // namespace assay::goal
