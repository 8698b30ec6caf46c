// collection_meta.yaml, which says with which runtime the tables beside it were measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::store {

inline constexpr const char* kCollectionMetaName = "collection_meta.yaml";

// Returns the file's entries about all tables and about this one: "runtime.image",
// "tables.gemm_perf.status".
core::Result<std::map<std::string, std::string>> read_collection_meta(
    const std::filesystem::path& path, const std::string& table);

// Does the same with the text of a file, which errors call `name`.
core::Result<std::map<std::string, std::string>> parse_collection_meta(std::string_view text,
                                                                       const std::string& name,
                                                                       const std::string& table);

struct PlacedTable {
  std::string table;
  std::string version;  // of what measured it; written where it is not the folder's
  std::int64_t rows = 0;
  std::string collected_at;
  std::vector<std::string> kernels = {};  // the kernel sources of its rows
};

// Tables in one folder, by what really measured them, whatever the folder's name.
struct PlacedFolder {
  std::string framework;  // whose version it is: "assay", or "nccl" for collectives of NCCL
  std::string version;
  std::string collector;  // what measured: "assay"
  std::vector<PlacedTable> tables;
};

// The text that the file `path` should have once these tables lie beside it; what it says about
// others stays.
core::Result<std::string> collection_meta_text(const std::filesystem::path& path,
                                               const PlacedFolder& folder);

}  // namespace assay::store
