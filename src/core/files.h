// Files: whole reads, listings, and writes that appear under their name only when whole.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::core {

// False also where a link leads in a circle or a folder on the way may not be entered; the
// functions of std::filesystem throw there.
bool is_folder(const std::filesystem::path& path);
bool is_regular_file(const std::filesystem::path& path);

Result<std::string> read_file(const std::filesystem::path& path);

// kSynced: a written file is on the disk, whole, even if the machine loses power right after.
// kUnsynced: it may then be empty. For many files that are easily made again: waiting for the disk
// takes longer than making them.
enum class Durability { kSynced, kUnsynced };

// Writes under a temporary name beside `path` and renames: readers see the old file or the new
// one, never a part. The temporary file is removed when anything fails or the program is
// interrupted.
Status write_file(const std::filesystem::path& path,
                  std::string_view content,
                  Durability durability = Durability::kSynced);

// The same for a library that writes files by itself: `write` gets the temporary path.
Status write_file_with(const std::filesystem::path& path,
                       const std::function<Status(const std::filesystem::path&)>& write,
                       Durability durability = Durability::kSynced);

Status make_directories(const std::filesystem::path& path);

// Names of the entries of a folder, sorted.
Result<std::vector<std::filesystem::path>> list_directory(const std::filesystem::path& path);

}  // namespace assay::core
