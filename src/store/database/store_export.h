// Writes tables of a store as perf files: into one folder, or to where the programs that read them
// look for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"
#include "store/files/perf_file.h"

namespace assay::store {

// kReadme also writes comm_perf (the rows of nccl_perf) and custom_all_reduce, as the requirements
// call these files.
enum class FileNames { kPublic, kReadme };

struct ExportRequest {
  std::filesystem::path folder;
  std::vector<std::string> tables = {};  // empty for all
  Selection rows = {};                   // of each table; its own `table` is not used
  PerfFileStyle style = {};
  FileNames names = FileNames::kPublic;
};

struct WrittenFile {
  std::filesystem::path path;
  std::string table;
  std::int64_t rows = 0;
};

// The error for a store that has none of the selected rows.
core::Error no_rows(const Selection& rows);

// ".txt" or ".parquet"
const char* ending_of(FileFormat format);

// A table without selected rows gives no file; if it was asked for by name, that is an error.
core::Result<std::vector<WrittenFile>> export_tables(const Store& store,
                                                     const ExportRequest& request);

// kFlat writes data/SYSTEM/BACKEND/VERSION/gemm_perf.txt; kFamily, in use since 2026, writes
// data/SYSTEM/gemm/BACKEND/VERSION/gemm_perf.parquet with a collection_meta.yaml beside it.
enum class PlaceLayout { kFlat, kFamily };

enum class Existing { kKeep, kReplace };

struct PlaceRequest {
  std::filesystem::path systems;  // the folder with data/ and SYSTEM.yaml
  std::string system;             // "h200_sxm"
  std::string backend = {};       // the folder's name; empty for the framework in lower case
  // `table` and `op_name` are not used. Only points of the grid are placed: readers bracket along
  // one size after the other, or take the curve of a weight's shape for complete, so that points
  // between those of a grid mislead them.
  Selection rows = {.table = {}, .points = Points::kGrid};
  PlaceLayout layout = PlaceLayout::kFlat;
  Labels labels = Labels::kNew;
  Existing existing = Existing::kKeep;
};

// The folder of a table: "mla" for "mla_bmm_perf". A table that is not declared has a folder of its
// own.
std::string family_of(const std::string& table);

// Every file is written whole or not at all. NCCL's tables go to nccl/VERSION whatever the backend.
// Rows of several frameworks or devices, and files that exist already, are errors before anything
// is written.
core::Result<std::vector<WrittenFile>> place(const Store& store, const PlaceRequest& request);

}  // namespace assay::store
