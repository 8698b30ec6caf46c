// A number that tells files apart.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.h"

namespace assay::core {

// Returns the 64-bit FNV-1a hash of a file's bytes. It is no protection against forgery.
Result<std::uint64_t> file_hash(const std::filesystem::path& path);

}  // namespace assay::core
