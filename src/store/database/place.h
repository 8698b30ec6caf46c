// Tables where the programs that read them look for them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"
#include "store/database/store_export.h"
#include "store/files/perf_file.h"

namespace assay::store {

// kFlat: data/SYSTEM/BACKEND/VERSION/gemm_perf.txt; kFamily, since 2026:
// data/SYSTEM/gemm/BACKEND/VERSION/gemm_perf.parquet with a collection_meta.yaml beside it.
enum class PlaceLayout { kFlat, kFamily };

enum class Existing { kKeep, kReplace };

struct PlaceRequest {
  std::filesystem::path systems;  // the folder with data/ and SYSTEM.yaml
  std::string system;             // "h200_sxm"
  std::string backend = {};       // the folder's name; empty: the framework in lower case
  // `table` and `op_name` are not used. Readers bracket along one size after the other, or take
  // the curve of a weight's shape for whole: points between those of a grid mislead them.
  Selection rows = {.table = {}, .points = Points::kGrid};
  PlaceLayout layout = PlaceLayout::kFlat;
  Labels labels = Labels::kNew;
  Existing existing = Existing::kKeep;
};

// "gemm" of "gemm_perf"; a table that nobody knows is a family of its own.
std::string family_of(const std::string& table);

// Every file is written whole or not at all. NCCL's tables go to nccl/VERSION whatever the
// backend. Errors, before anything is written: rows of several frameworks or devices, files that
// are there already.
core::Result<std::vector<WrittenFile>> place(const Store& store, const PlaceRequest& request);

}  // namespace assay::store
