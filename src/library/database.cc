#include "library/database.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "cli/table_inputs.h"
#include "core/text.h"
#include "store/answers/packed_tables.h"
#include "store/database/store.h"
#include "store/files/table_spec.h"
#include "store/systems/shipped.h"

namespace assay::library {
namespace {

namespace fs = std::filesystem;

core::Result<std::vector<fs::path>> tables_of_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".csv" || extension == ".parquet" || extension == ".txt")
      files.push_back(entry.path());
  }
  if (code)
    return core::Error{fmt::format("cannot read '{}': {}", folder.string(), code.message())};
  if (files.empty())
    return core::Error{
        fmt::format("'{}' holds no performance tables (.csv, .parquet)", folder.string())};
  std::sort(files.begin(), files.end());
  return files;
}

// The rows of a table of columns.
void add_size(const store::WorkRows& rows, std::size_t size, model::Table& table) {
  std::set<double> values;
  for (std::size_t row = 0; row < rows.num_rows(); ++row)
    values.insert(rows.sizes_of(row)[size]);
  table.add_row({rows.table, rows.sizes[size], "size", static_cast<std::int64_t>(values.size()),
                 *values.begin(), *values.rbegin(), model::Cell()});
}

void add_exact(const store::WorkRows& rows, const store::ExactColumn& column, model::Table& table) {
  constexpr std::size_t kMostExamples = 8;
  std::vector<std::string> examples = column.values;
  examples.resize(std::min(examples.size(), kMostExamples));
  table.add_row({rows.table, column.name, "exact", static_cast<std::int64_t>(column.values.size()),
                 model::Cell(), model::Cell(), core::join(examples, ", ")});
}

model::Table columns_table() {
  return {.name = "columns",
          .title = "Columns that questions can name",
          .columns = {{.name = "table"},
                      {.name = "column"},
                      {.name = "kind", .description = "size: may lie between measured ones; exact"},
                      {.name = "values", .description = "how many different ones"},
                      {.name = "lowest"},
                      {.name = "highest"},
                      {.name = "examples"}}};
}

}  // namespace

core::Result<std::unique_ptr<Database>> Database::open(const fs::path& name) {
  std::unique_ptr<Database> database(new Database);
  std::error_code code;
  if (store::shipped_at(name) != nullptr || store::is_store(name)) {
    database->store_ = name;
  } else if (fs::is_directory(name, code)) {
    database->files_ = ASSAY_TRY(tables_of_folder(name));
  } else if (fs::exists(name, code)) {
    database->files_ = {name};
  } else {
    static_cast<void>(ASSAY_TRY(store::open_to_read(name)));  // says what there is
    database->store_ = name;
  }
  return database;
}

core::Result<std::shared_ptr<const store::WorkIndex>> Database::table(const std::string& word) {
  const std::string name = cli::table_meant(word);
  const std::scoped_lock lock(mutex_);
  auto& known = tables_[name];
  if (known == nullptr) {
    auto index = read(name);
    if (!index.ok()) {
      tables_.erase(name);
      return index.error();
    }
    (void)index.value().spreads();  // learnt here, so that threads only read
    known = std::make_shared<const store::WorkIndex>(std::move(index.value()));
  }
  return known;
}

core::Result<store::WorkIndex> Database::read(const std::string& table) {
  cli::TableInputs inputs;
  inputs.store = store_;
  for (const fs::path& file : files_) {
    if (files_.size() == 1 || store::table_name(file.string()) == table)
      inputs.files.push_back(file);
  }
  if (store_.empty() && inputs.files.empty()) {
    return core::Error{fmt::format("there is no table {}; there are {}", table,
                                   core::join(ASSAY_TRY(table_names()), ", "))};
  }
  return cli::read_index(inputs, {}, table, {});
}

core::Result<std::vector<std::string>> Database::table_names() const {
  if (const store::ShippedSystem* shipped = store::shipped_at(store_); shipped != nullptr)
    return ASSAY_TRY(store::PackedTables::open(shipped->tables)).names();
  if (!store_.empty()) return ASSAY_TRY(store::open_to_read(store_)).tables();
  std::vector<std::string> names;
  for (const fs::path& file : files_)
    names.push_back(store::table_name(file.string()));
  return names;
}

core::Result<model::Table> Database::columns() {
  return columns_of_tables(ASSAY_TRY(table_names()));
}

core::Result<model::Table> Database::columns(const std::string& word) {
  return columns_of_tables({word});
}

core::Result<model::Table> Database::columns_of_tables(const std::vector<std::string>& words) {
  model::Table found = columns_table();
  for (const std::string& word : words) {
    const auto index = ASSAY_TRY(table(word));
    const store::WorkRows& rows = index->rows();
    for (const store::ExactColumn& column : rows.exact)
      add_exact(rows, column, found);
    for (std::size_t size = 0; size < rows.sizes.size(); ++size)
      add_size(rows, size, found);
  }
  return found;
}

}  // namespace assay::library
