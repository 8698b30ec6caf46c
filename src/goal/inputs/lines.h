// A text file (gzip or not) line by line, in bounded memory.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::goal {

// Calls visit(line) without the line's end; also for a last line that has none. A line longer than
// 64 MiB is an error.
core::Status for_each_line(const std::filesystem::path& path,
                           const std::function<void(std::string_view)>& visit);

// The first bytes of a file; empty when it cannot be read.
std::string first_bytes(const std::filesystem::path& path, std::size_t count);

}  // namespace assay::goal
