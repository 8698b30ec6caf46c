// The tables inside a store's file.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"
#include "store/database/store_database.h"

namespace assay::store {

// Runs whose rows no table shows, as SQL.
inline constexpr const char* kReruns = "SELECT id FROM run WHERE kind = 'rerun'";

// Runs with kRefinesFact, as SQL.
std::string refinements();

// Makes the tables of a new file. Errors: not a store, or one of a newer version.
core::Status prepare_schema(const Database& database, Store::Mode mode);

// The key columns of a table, in the order of its file: tables that frameworks write differ here.
struct Layout {
  std::int64_t id = 0;
  std::vector<std::string> columns;
};

// Of all its layouts: each once, in the order in which they appear.
std::vector<std::string> joined_columns(const std::vector<Layout>& layouts);

// The public view of a table, made anew: "SELECT * FROM gemm_perf".
core::Status make_view(const Database& database,
                       const std::string& table,
                       const std::vector<Layout>& layouts);

}  // namespace assay::store
