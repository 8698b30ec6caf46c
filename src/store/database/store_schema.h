// The tables inside a store's file, and what the sources of class Store share.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"
#include "store/database/store_database.h"

namespace assay::store {

// Selects, as SQL, the runs whose rows no table shows.
inline constexpr const char* kReruns = "SELECT id FROM run WHERE kind = 'rerun'";

// Selects, as SQL, the runs that have kRefinesFact.
std::string refinements();

// That the source "kin" differs from "s" in its kernel alone, if at all.
inline constexpr const char* kAnotherKernel =
    "kin.layout = s.layout AND kin.framework = s.framework AND kin.version = s.version AND "
    "kin.device = s.device AND kin.op_name = s.op_name";

// Makes the tables of a new file, and the views of an older one anew where they are made in another
// way today. A file that is no store, or is one of a newer version, is an
// error.
core::Status prepare_schema(const Database& database, Store::Mode mode);

// The key columns of a table in the order of its file, in which the tables of frameworks differ.
struct Layout {
  std::int64_t id = 0;
  std::vector<std::string> columns;
};

// The columns of all layouts, each once, in the order in which they appear.
std::vector<std::string> joined_columns(const std::vector<Layout>& layouts);

struct Store::State {
  explicit State(Database opened) : database(std::move(opened)) {}

  Database database;
};

// The present time: "2026-08-23T14:05:09Z".
std::string utc_now();

// The layouts of a table, the oldest first.
core::Result<std::vector<Layout>> layouts_of(const Database& database, const std::string& table);

// Finds the numbers of layouts and sources, and makes those that do not exist yet. An object serves
// for one transaction: what it made is gone if that is undone.
class Sources {
 public:
  explicit Sources(const Database& database) : database_(&database) {}

  core::Result<std::int64_t> layout(const std::string& table,
                                    const std::vector<std::string>& columns);

  struct Common {
    std::string framework;
    std::string version;
    std::string device;
    std::string op_name;
    std::string kernel_source;
  };

  core::Result<std::int64_t> source(std::int64_t layout, const Common& common);

 private:
  const Database* database_;
};

// Notes that the run was appended to now.
core::Status touch_run(const Database& database, std::int64_t run);

core::Result<std::int64_t> insert_run(const Database& database, const Run& run);

// Fails for a frame that cannot hold the rows of a table.
core::Status check_rows(const Frame& rows);

}  // namespace assay::store
