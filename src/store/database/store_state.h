// What the files that make up class Store share.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/database/store.h"
#include "store/database/store_database.h"
#include "store/database/store_schema.h"

namespace assay::store {

struct Store::State {
  explicit State(Database opened) : database(std::move(opened)) {}

  Database database;
};

// "2026-08-23T14:05:09Z": now.
std::string utc_now();

core::Result<std::vector<Layout>> layouts_of(const Database& database, const std::string& table);

// Numbers of layouts and sources, made where there is none yet. Valid inside one transaction:
// what it made is gone if that is undone.
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

core::Status touch_run(const Database& database, std::int64_t run);

core::Result<std::int64_t> insert_run(const Database& database, const Run& run);

// Whether these can be a table's rows.
core::Status check_rows(const Frame& rows);

core::Status insert_rows(const Database& database,
                         std::int64_t run,
                         const std::string& table,
                         const Frame& rows);

}  // namespace assay::store
