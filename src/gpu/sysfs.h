// Reads the small files in which Linux and its drivers describe devices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace assay::gpu {

// The first line, without spaces at its ends; "" when it cannot be read.
std::string sysfs_text(const std::filesystem::path& file);

// A number that is decimal, or hexadecimal after "0x".
std::optional<std::int64_t> sysfs_number(const std::filesystem::path& file);

// All lines; none when it cannot be read.
std::vector<std::string> sysfs_lines(const std::filesystem::path& file);

// The value of a line "NAME=value" or "name value".
std::string sysfs_value(const std::filesystem::path& file, const std::string& name);

// The entries of a folder; none when it cannot be read.
std::vector<std::filesystem::path> sysfs_entries(const std::filesystem::path& folder);

}  // namespace assay::gpu
