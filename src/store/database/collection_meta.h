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
  std::int64_t rows = 0;
  std::string collected_at;
};

// The text that the file `path` should have once these tables lie beside it; what it says about
// others stays.
core::Result<std::string> collection_meta_text(const std::filesystem::path& path,
                                               const std::string& framework,
                                               const std::string& version,
                                               const std::vector<PlacedTable>& tables);

}  // namespace assay::store
