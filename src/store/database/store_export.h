// Writes tables of a store as perf files: into one folder, or to where the programs that read them
// look for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/database/modelled_power.h"
#include "store/database/planner_tables.h"
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
  RowLoads loads = {};  // for the power of rows that have none; null: no model
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

struct Exported {
  std::vector<WrittenFile> files = {};
  std::vector<LeftOut> left_out = {};
  std::vector<PowerFit> power = {};
};

// A table without selected rows gives no file; if it was asked for by name, that is an error. Rows
// without power get one as place() gives it where all are of one device: readers of the format take
// it of all rows or of none.
core::Result<Exported> export_tables(const Store& store, const ExportRequest& request);

// kFamily writes data/SYSTEM/gemm/BACKEND/VERSION/gemm_perf.parquet with a collection_meta.yaml
// beside it, as the public planner has it since 2026; kFlat, of the releases before,
// data/SYSTEM/BACKEND/VERSION/gemm_perf.txt.
enum class PlaceLayout { kFlat, kFamily };

enum class Existing { kKeep, kReplace };

// A table that is made of the rows that are placed.
struct ComposedTable {
  std::string table;
  Frame rows;
  std::vector<LeftOut> left_out = {};
};

struct RowsToPlace {
  std::string table;
  Frame rows;  // without the state of the cache
};

// Callers know how tables are composed, this layer does not.
using Compose =
    std::function<core::Result<std::vector<ComposedTable>>(const std::vector<RowsToPlace>& rows)>;

struct PlaceRequest {
  std::filesystem::path systems;  // the folder with data/ and SYSTEM.yaml
  std::string system;             // "h200_sxm"
  std::string backend = {};       // "trtllm"; empty for the framework in lower case
  // `table` and `op_name` are not used. Of points outside of the grid only those on its curves are
  // placed (planner_tables.h).
  Selection rows = {.table = {}, .points = Points::kGrid};
  PlaceLayout layout = PlaceLayout::kFamily;
  Labels labels = Labels::kNew;
  Existing existing = Existing::kKeep;
  RowLoads loads = {};  // for the power of rows that no measured one is near to; null: no model
  // Tables beside those of the store, of rows of another framework than the backend; null: none.
  Compose compose = {};
};

struct Placed {
  std::vector<WrittenFile> files = {};
  std::vector<LeftOut> left_out = {};
  std::vector<PowerFit> power = {};
  std::vector<std::string> without_power = {};  // tables, to which the planner gives 0 W
  std::string framework = {};                   // of the rows
  std::string device = {};                      // of the rows
  std::string backend = {};                     // the folder, and the folder of the version in it
  std::string version = {};
  std::string nccl_version = {};  // of the rows of nccl_perf; empty without them
};

// The folder of a table: "mla" for "mla_bmm_perf". A table that is not declared has a folder of its
// own.
std::string family_of(const std::string& table);

// The folder of a version: rows of a framework in its own name have the version alone, those of
// another the framework before it ("assay-0.1.0"). That is no version that the planner could mix up
// with, or complete by, those of the backend.
std::string version_folder(const std::string& backend,
                           const std::string& framework,
                           const std::string& version);

// Every file is written whole or not at all. NCCL's tables go to nccl/VERSION whatever the backend.
// Rows of another framework than the backend are those that the planner can read. Errors, before
// anything is written: rows of several frameworks or devices, a backend that no planner has, files
// that exist already, and no rows.
core::Result<Placed> place(const Store& store, const PlaceRequest& request);

}  // namespace assay::store
