// collection_meta.yaml: says of the tables beside it which runtime they were measured with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::store {

inline constexpr const char* kCollectionMetaName = "collection_meta.yaml";

// What it says of everything and of this table: "runtime.image", "tables.gemm_perf.status".
core::Result<std::map<std::string, std::string>> read_collection_meta(
    const std::filesystem::path& path, const std::string& table);

struct PlacedTable {
  std::string table;
  std::int64_t rows = 0;
  std::string collected_at;
};

// What the file `path` should hold once these tables lie beside it; what it says of others stays.
core::Result<std::string> collection_meta_text(const std::filesystem::path& path,
                                               const std::string& framework,
                                               const std::string& version,
                                               const std::vector<PlacedTable>& tables);

}  // namespace assay::store
