// Tables of a store as perf files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"
#include "store/files/perf_file.h"

namespace assay::store {

// kReadme: also comm_perf (what nccl_perf holds) and custom_all_reduce, as the requirements call
// these files.
enum class FileNames { kPublic, kReadme };

struct ExportRequest {
  std::filesystem::path folder;
  std::vector<std::string> tables = {};  // empty: all
  Selection rows = {};                   // which of each table; its `table` is not used
  PerfFileStyle style = {};
  FileNames names = FileNames::kPublic;
};

struct WrittenFile {
  std::filesystem::path path;
  std::string table;
  std::int64_t rows = 0;
};

// That a store has none that are selected.
core::Error no_rows(const Selection& rows);

// ".txt" or ".parquet"
const char* ending_of(FileFormat format);

// A table without selected rows gives no file, unless it was asked for by name: an error.
core::Result<std::vector<WrittenFile>> export_tables(const Store& store,
                                                     const ExportRequest& request);

}  // namespace assay::store
