// An open database: tables that are read when they are asked first, by any thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "store/answers/work_index.h"

namespace assay::library {

class Database {
 public:
  // `name`: a shipped system, a store, a table's file, or a folder of such files.
  static core::Result<std::unique_ptr<Database>> open(const std::filesystem::path& name);

  // "gemm", "gemm_perf" or an operator. The index answers query_columns() and Surface::bind() of
  // several threads at the same time.
  // What is to be said of a table goes to the task of the thread that has it read.
  core::Result<std::shared_ptr<const store::WorkIndex>> table(const std::string& word);

  // The columns that questions can name, of all tables or of one.
  core::Result<model::Table> columns();
  core::Result<model::Table> columns(const std::string& word);

 private:
  Database() = default;

  [[nodiscard]] core::Result<std::vector<std::string>> table_names() const;
  core::Result<store::WorkIndex> read(const std::string& table);
  core::Result<model::Table> columns_of_tables(const std::vector<std::string>& words);

  std::filesystem::path store_;               // a shipped name or a store; or else
  std::vector<std::filesystem::path> files_;  // tables
  std::mutex mutex_;                          // guards what follows
  std::map<std::string, std::shared_ptr<const store::WorkIndex>, std::less<>> tables_;
};

}  // namespace assay::library
