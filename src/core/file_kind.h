// Tells what a file is by its first bytes, for those who give a reader of text a file of another
// kind.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::core {

// The formats of text that are read.
enum class TextFormat { kCsv, kYaml, kJson, kJsonLines, kGoal };

// Returns "gzip data", "zstd data", "a ZIP archive or a workbook", "an SQLite database", "a Parquet
// file", "a PDF", "an ELF program or library", "binary data" or, beside a format that does not
// begin so, "JSON"; "" for bytes that may be of the format. Some first kilobytes suffice.
std::string_view foreign_kind(std::string_view bytes, TextFormat wanted);

// Fails for bytes of another kind, and names both.
Status check_kind(std::string_view bytes, TextFormat wanted);

// Returns what the file holds. Errors: it cannot be read, or is of another kind.
Result<std::string> read_text(const std::filesystem::path& path, TextFormat wanted);

}  // namespace assay::core
