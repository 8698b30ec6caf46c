#include "cli/table_inputs.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/options.h"
#include "cli/output.h"
#include "core/text.h"
#include "model/warnings.h"
#include "store/perf_file.h"
#include "store/store.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

core::Result<NamedFrame> read_one(const fs::path& path) {
  model::Warnings warnings;
  store::PerfFile file = ASSAY_TRY(store::read_perf_file(path, warnings));
  for (const model::Warning& warning : warnings.all()) {
    print_warning(fmt::format("{}: {}: {}, {} ({})", path.string(), warning.reason, warning.count,
                              warning.effect, warning.example));
  }
  return NamedFrame{.table = file.table, .source = path.string(), .frame = std::move(file.rows)};
}

core::Result<std::vector<NamedFrame>> read_store(const fs::path& path, const std::string& only) {
  const store::Store opened = ASSAY_TRY(store::Store::open(path, store::Store::Mode::kRead));
  std::vector<std::string> names;
  for (const store::Content& content : ASSAY_TRY(opened.list())) {
    if (std::find(names.begin(), names.end(), content.table) == names.end())
      names.push_back(content.table);
  }
  if (names.empty()) return core::Error{path.string() + " holds no tables"};
  if (!only.empty()) {
    if (std::find(names.begin(), names.end(), only) == names.end()) {
      return core::Error{fmt::format("{} has no table {}; it has {}", path.string(), only,
                                     core::join(names, ", "))};
    }
    names = {only};
  }
  std::vector<NamedFrame> tables;
  for (const std::string& name : names) {
    tables.push_back(
        {.table = name,
         .source = {},
         .frame = ASSAY_TRY(opened.table({.table = name}, store::Store::Columns::kPublic))});
  }
  return tables;
}

}  // namespace

core::Status TableInputs::check() const {
  if (store.empty() && files.empty()) {
    return core::Error{"what to read: --store DB, or performance tables (CSV or Parquet) as FILE"};
  }
  if (store.empty() || files.empty()) return {};
  return core::Error{"--store and FILE exclude each other"};
}

void add_table_inputs(CLI::App& app, TableInputs& inputs, const char* file_help) {
  app.add_option("FILE", inputs.files, file_help);
  app.add_option("--store", inputs.store, "read this store instead of files")->type_name("FILE");
}

core::Result<std::vector<NamedFrame>> read_tables(const TableInputs& inputs,
                                                  const std::string& table) {
  if (!inputs.store.empty()) return read_store(inputs.store, table);
  std::vector<NamedFrame> tables;
  for (const fs::path& path : inputs.files) {
    NamedFrame named = ASSAY_TRY(read_one(path));
    if (!table.empty() && named.table != table) {
      return core::Error{fmt::format("{} is a {}, not a {}", path.string(), named.table, table)};
    }
    tables.push_back(std::move(named));
  }
  return tables;
}

}  // namespace assay::cli
