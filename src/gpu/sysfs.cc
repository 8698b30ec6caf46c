#include "gpu/sysfs.h"

#include <charconv>
#include <fstream>
#include <string_view>

#include "core/files.h"

namespace assay::gpu {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

std::string sysfs_text(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return trimmed(line);
}

std::optional<std::int64_t> sysfs_number(const fs::path& file) {
  const std::string text = sysfs_text(file);
  std::string_view digits = text;
  const int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (read.ec != std::errc()) return {};
  return value;
}

std::vector<std::string> sysfs_lines(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(trimmed(line));
  return lines;
}

std::string sysfs_value(const fs::path& file, const std::string& name) {
  for (const std::string& line : sysfs_lines(file)) {
    const auto end = line.find_first_of("= ");
    if (end != std::string::npos && line.compare(0, end, name) == 0) {
      return trimmed(line.substr(end + 1));
    }
  }
  return {};
}

std::vector<fs::path> sysfs_entries(const fs::path& folder) {
  const auto names = core::list_directory(folder);
  if (!names.ok()) return {};
  std::vector<fs::path> entries;
  for (const fs::path& name : names.value())
    entries.push_back(folder / name);
  return entries;
}

}  // namespace assay::gpu
