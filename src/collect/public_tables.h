// The public collector's tables in a folder: DIR/gemm_perf.txt, ...
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/store.h"

namespace assay::collect {

struct TableSource {
  std::string framework;
  std::string version;
  std::string device;
};

// Every table of the store that has rows of this source. Gives the files written.
core::Result<std::vector<std::filesystem::path>> write_public_tables(
    const store::Store& store, const TableSource& source, const std::filesystem::path& folder);

}  // namespace assay::collect
